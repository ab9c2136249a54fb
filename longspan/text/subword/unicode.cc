#include "longspan/text/subword/unicode.h"

#include <unicode/brkiter.h>
#include <unicode/locid.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>
#include <unicode/uscript.h>
#include <unicode/utext.h>
#include <unicode/utf16.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <memory>

#include "longspan/base/check.h"
#include "longspan/base/utf8_character.h"

namespace longspan::unicode {

namespace {

bool is_one_of(int32_t code, uint32_t categories) { return (U_GET_GC_MASK(code) & categories) != 0; }

void check(UErrorCode error) { LONGSPAN_ASSERT(U_SUCCESS(error), "ICU: ", u_errorName(error)); }

const icu::Normalizer2& made(const icu::Normalizer2* (*get)(UErrorCode&)) {
  UErrorCode error = U_ZERO_ERROR;
  const icu::Normalizer2* out = get(error);
  check(error);
  return *out;
}
const icu::Normalizer2& canonical() {
  static const icu::Normalizer2& out = made(&icu::Normalizer2::getNFCInstance);
  return out;
}
const icu::Normalizer2& compatible() {
  static const icu::Normalizer2& out = made(&icu::Normalizer2::getNFKCInstance);
  return out;
}

void push(std::vector<FormCharacter>& out, int32_t code, std::size_t end) {
  out.push_back({code, canonical().getCombiningClass(code), end});
}

/// Marks behind one character in the order of their classes. A stable sort, so that a text of marks alone takes no
/// longer than another.
void order_marks(std::vector<FormCharacter>& characters) {
  const auto is_mark = [](const FormCharacter& each) { return each.combining_class != 0; };
  for (auto begin = characters.begin(); (begin = std::find_if(begin, characters.end(), is_mark)) != characters.end();) {
    const auto end = std::find_if_not(begin, characters.end(), is_mark);
    if (!std::ranges::is_sorted(begin, end, {}, &FormCharacter::combining_class))
      std::ranges::stable_sort(begin, end, {}, &FormCharacter::combining_class);
    begin = end;
  }
}

/// Pairs that have a character of their own become it, as chapter 3.11 of the Unicode standard defines it.
void compose(std::vector<FormCharacter>& characters) {
  constexpr std::size_t kNone = SIZE_MAX;
  std::size_t starter = kNone, kept = 0;
  int last_class = -1;  // of what stands between the starter and the next; -1: nothing does
  for (const FormCharacter each : characters) {
    if (starter != kNone && last_class < each.combining_class) {
      const int32_t whole = canonical().composePair(characters[starter].code, each.code);
      if (whole >= 0) {
        characters[starter].code = whole;
        characters[starter].end = std::max(characters[starter].end, each.end);
        continue;
      }
    }
    if (each.combining_class == 0) starter = kept;
    last_class = each.combining_class == 0 ? -1 : each.combining_class;
    characters[kept++] = each;
  }
  characters.resize(kept);
}

}  // namespace

Character first(std::string_view text) {
  const auto byte = static_cast<unsigned char>(text[0]);
  if (byte < 0x80) return {byte, 1};
  int32_t at = 0, code = 0;
  U8_NEXT(text.data(), at, static_cast<int32_t>(std::min<std::size_t>(text.size(), U8_MAX_LENGTH)), code);
  if (code < 0) return {0xFFFD, 1};
  return {code, static_cast<std::size_t>(at)};
}

Character before(std::string_view text, std::size_t end) {
  std::size_t begin = end - 1;
  while (begin > 0 && end - begin < U8_MAX_LENGTH && continues_character(text[begin])) --begin;
  return first(text.substr(begin, end - begin));
}

void append(std::string& out, int32_t code) {
  char bytes[U8_MAX_LENGTH];
  int32_t size = 0;
  U8_APPEND_UNSAFE(bytes, size, code);
  out.append(bytes, static_cast<std::size_t>(size));
}

bool is_white_space(int32_t code) { return u_isUWhiteSpace(code); }
bool is_letter(int32_t code) { return is_one_of(code, U_GC_L_MASK); }
bool is_number(int32_t code) { return is_one_of(code, U_GC_N_MASK); }
bool is_punctuation(int32_t code) { return is_one_of(code, U_GC_P_MASK); }
bool is_nonspacing(int32_t code) { return is_one_of(code, U_GC_MN_MASK); }
bool is_mark(int32_t code) { return is_one_of(code, U_GC_M_MASK); }
bool is_other(int32_t code) { return is_one_of(code, U_GC_CC_MASK | U_GC_CF_MASK | U_GC_CO_MASK); }
bool is_seen(int32_t code) { return !is_white_space(code) && !is_one_of(code, U_GC_CC_MASK | U_GC_CF_MASK); }
bool is_word(int32_t code) {
  return is_one_of(code, U_GC_M_MASK | U_GC_ND_MASK | U_GC_PC_MASK) || u_isUAlphabetic(code) ||
         u_hasBinaryProperty(code, UCHAR_JOIN_CONTROL);
}

std::optional<int32_t> script(int32_t code) {
  constexpr int32_t kLongVowel = 0x30FC;
  if (code == ' ') return std::nullopt;
  UErrorCode error = U_ZERO_ERROR;
  const UScriptCode own = uscript_getScript(code, &error);
  check(error);
  if (own == USCRIPT_UNKNOWN) return std::nullopt;
  return own == USCRIPT_HIRAGANA || own == USCRIPT_KATAKANA || code == kLongVowel ? USCRIPT_HAN : own;
}

std::vector<FormCharacter> normalized(std::string_view text, Form form) {
  const bool whole = form == Form::nfc || form == Form::nfkc;
  const icu::Normalizer2& mappings = form == Form::nfkc || form == Form::nfkd ? compatible() : canonical();
  std::vector<FormCharacter> out;
  out.reserve(text.size());
  icu::UnicodeString parts;
  for (std::size_t end = 0; end < text.size();) {
    const Character character = first(text.substr(end));
    end += character.size;
    if (!mappings.getDecomposition(character.code, parts)) {
      push(out, character.code, end);
      continue;
    }
    for (int32_t i = 0; i < parts.length(); i = parts.moveIndex32(i, 1)) push(out, parts.char32At(i), end);
  }
  order_marks(out);
  if (whole) compose(out);
  return out;
}

void append_lower(std::string& out, int32_t code) {
  append(out, u_tolower(code));
  if (code == 0x130) out += "\xCC\x87";  // the one character whose lower case is two: i and U+0307
}

struct Clusters::Parts {
  std::unique_ptr<icu::BreakIterator> iterator;
  UText text = UTEXT_INITIALIZER;
  ~Parts() { utext_close(&text); }
};

Clusters::Clusters(std::string_view text) : parts_(std::make_unique<Parts>()), text_(text) {
  UErrorCode error = U_ZERO_ERROR;
  parts_->iterator.reset(icu::BreakIterator::createCharacterInstance(icu::Locale::getRoot(), error));
  utext_openUTF8(&parts_->text, text.data(), static_cast<int64_t>(text.size()), &error);
  if (U_SUCCESS(error)) parts_->iterator->setText(&parts_->text, error);
  check(error);
}
Clusters::~Clusters() = default;

std::size_t Clusters::end_of(std::size_t begin) {
  const auto is_ascii = [&](std::size_t at) { return static_cast<unsigned char>(text_[at]) < 0x80; };
  const std::size_t next = begin + 1;
  if (is_ascii(begin) && (next == text_.size() || (is_ascii(next) && text_[next] != '\n'))) return next;
  return static_cast<std::size_t>(parts_->iterator->following(static_cast<int32_t>(begin)));
}

}  // namespace longspan::unicode
