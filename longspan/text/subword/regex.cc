#include "longspan/text/subword/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>

#include "longspan/base/check.h"
#include "longspan/base/in_quotes.h"
#include "longspan/base/utf8_character.h"

namespace longspan {

namespace {

/// Steps of backtracking in one match. A pattern that cuts words needs some tens; the limit ends the others.
constexpr uint32_t kMatchLimit = 50'000'000;
constexpr std::size_t kStackFirst = 64 << 10, kStackMost = 16 << 20;

template <auto Free>
struct Freed {
  template <class T>
  void operator()(T* pointer) const {
    Free(pointer);
  }
};
using MatchData = std::unique_ptr<pcre2_match_data, Freed<pcre2_match_data_free>>;
using MatchContext = std::unique_ptr<pcre2_match_context, Freed<pcre2_match_context_free>>;
using CompileContext = std::unique_ptr<pcre2_compile_context, Freed<pcre2_compile_context_free>>;
using JitStack = std::unique_ptr<pcre2_jit_stack, Freed<pcre2_jit_stack_free>>;

std::string message_of(int code) {
  PCRE2_UCHAR text[256];
  pcre2_get_error_message(code, text, sizeof(text));
  return reinterpret_cast<const char*>(text);
}

}  // namespace

struct Regex::Scratch::Parts {
  MatchData data{pcre2_match_data_create(1, nullptr)};
  MatchContext context{pcre2_match_context_create(nullptr)};
  JitStack stack{pcre2_jit_stack_create(kStackFirst, kStackMost, nullptr)};

  Parts() {
    if (!data || !context) throw std::bad_alloc();
    pcre2_set_match_limit(context.get(), kMatchLimit);
    if (stack) pcre2_jit_stack_assign(context.get(), nullptr, stack.get());
  }
};

Regex::Scratch::Scratch() : parts_(std::make_unique<Parts>()) {}
Regex::Scratch::~Scratch() = default;
Regex::Scratch::Scratch(Scratch&&) noexcept = default;
Regex::Scratch& Regex::Scratch::operator=(Scratch&&) noexcept = default;

struct Regex::Code {
  std::unique_ptr<pcre2_code, Freed<pcre2_code_free>> code;
  bool compiled = false;  ///< to machine code
  std::string pattern;
};

Regex::Regex(std::string_view pattern, RegexFlavour flavour, std::string_view owner) : code_(std::make_unique<Code>()) {
  const std::string own = to_pcre2(pattern, flavour, owner);
  CompileContext context(pcre2_compile_context_create(nullptr));
  if (!context) throw std::bad_alloc();
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  int error = 0;
  PCRE2_SIZE at = 0;
  code_->code.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(own.data()), own.size(),
                                  PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &error, &at,
                                  context.get()));
  LONGSPAN_CHECK(code_->code, owner, ": the pattern ", in_quotes(pattern), " cannot be used: ", message_of(error));
  code_->compiled = pcre2_jit_compile(code_->code.get(), PCRE2_JIT_COMPLETE) == 0;
  code_->pattern = pattern;
}
Regex::~Regex() = default;
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;

bool Regex::find(std::string_view text, std::size_t from, std::size_t& begin, std::size_t& end,
                 Scratch& scratch) const {
  const auto& parts = *scratch.parts_;
  const auto subject = reinterpret_cast<PCRE2_SPTR>(text.data() ? text.data() : "");
  int found = PCRE2_ERROR_JIT_STACKLIMIT;
  if (code_->compiled && parts.stack)
    found = pcre2_jit_match(code_->code.get(), subject, text.size(), from, PCRE2_NO_UTF_CHECK, parts.data.get(),
                            parts.context.get());
  if (found == PCRE2_ERROR_JIT_STACKLIMIT)  // the interpreter keeps its steps on the heap
    found = pcre2_match(code_->code.get(), subject, text.size(), from, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT,
                        parts.data.get(), parts.context.get());
  if (found == PCRE2_ERROR_NOMATCH) return false;
  if (found < 0)
    throw RunError(str_cat("the pattern ", in_quotes(code_->pattern), " failed on a text of ", text.size(),
                           " bytes: ", message_of(found)));
  const PCRE2_SIZE* place = pcre2_get_ovector_pointer(parts.data.get());
  begin = place[0];
  end = std::max(place[0], place[1]);
  return true;
}

std::size_t Regex::next_character(std::string_view text, std::size_t at) {
  return at + std::max<std::size_t>(1, utf8_character(text.substr(std::min(at, text.size()))));
}

}  // namespace longspan
