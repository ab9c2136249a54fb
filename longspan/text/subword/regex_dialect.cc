// Patterns of other engines in the words of PCRE2.
#include <algorithm>

#include "longspan/base/check.h"
#include "longspan/base/in_quotes.h"
#include "longspan/text/subword/regex.h"

namespace longspan {

namespace {

constexpr std::string_view kWord = "\\p{Alphabetic}\\p{M}\\p{Pc}";

class Translation {
 public:
  Translation(std::string_view pattern, RegexFlavour flavour, std::string_view owner)
      : pattern_(pattern), owner_(owner), rust_(flavour == RegexFlavour::rust), word_(kWord) {
    word_ += rust_ ? "\\p{Nd}\\p{Join_Control}" : "\\p{N}";
  }

  std::string run() {
    while (at_ < pattern_.size()) {
      const char c = take();
      if (c == '\\') {
        escape();
      } else if (in_class_) {
        in_class(c);
      } else {
        outside(c);
      }
    }
    return std::move(out_);
  }

 private:
  bool next_is(std::string_view text) const { return pattern_.substr(at_).starts_with(text); }
  char take() { return pattern_[at_++]; }
  [[noreturn]] void refuse(std::string_view what) const {
    throw InputError(
        str_cat(owner_, ": the pattern ", in_quotes(pattern_), " uses ", what, ", which is not supported"));
  }

  void outside(char c) {
    if (c == '[') {
      in_class_ = true;
      out_ += c;
      if (next_is("^")) out_ += take();
      if (next_is("]")) refuse("']' as the first of a class");
      return;
    }
    if (c == '(' && next_is("?")) {
      constexpr std::string_view kKnown[] = {"?:", "?i:", "?=", "?!", "?<=", "?<!", "?>"};
      if (std::none_of(std::begin(kKnown), std::end(kKnown), [&](auto known) { return next_is(known); }))
        refuse(str_cat("a group of the kind '(?", pattern_.substr(at_ + 1, 1), "'"));
    }
    if (c == '(' && next_is("*")) refuse("'(*'");
    if (c == '}' && next_is("+")) refuse("'+' after '{...}'");  // possessive to some engines, a repetition to others
    if (rust_ && (c == '^' || c == '$'))
      out_ += c == '^' ? "\\A" : "\\z";  // of the text; in the other engine of a line
    else
      out_ += c;
  }

  void in_class(char c) {
    if (c == ']') in_class_ = false;
    if (c == '[') refuse("'[' within a class");
    if (c == '&' && next_is("&")) refuse("'&&' within a class");
    out_ += c;
  }

  void escape() {
    if (at_ == pattern_.size()) refuse("'\\' at its end");
    const char c = take();
    constexpr std::string_view kSame = "dDrntfaeAz";
    if (c == 's') {
      out_ += "\\p{White_Space}";
    } else if (c == 'S') {
      out_ += "\\P{White_Space}";
    } else if (c == 'w') {
      out_ += in_class_ ? word_ : "[" + word_ + "]";
    } else if (c == 'W' && !in_class_) {
      out_ += "[^" + word_ + "]";
    } else if (c == 'p' || c == 'P') {
      property(c);
    } else if (c == 'x') {
      out_ += "\\x";
    } else if (c == 'u') {
      const std::string_view digits = pattern_.substr(at_, 4);
      if (digits.size() < 4 || digits.find_first_not_of("0123456789abcdefABCDEF") != std::string_view::npos)
        refuse("'\\u' without four hexadecimal digits");
      out_ += "\\x{" + std::string(digits) + "}";
      at_ += 4;
    } else if (kSame.find(c) != std::string_view::npos ||
               (static_cast<unsigned char>(c) < 0x80 && !std::isalnum(static_cast<unsigned char>(c)))) {
      out_ += '\\';
      out_ += c;
    } else {
      refuse(str_cat("'\\", c, "'", in_class_ ? " within a class" : ""));
    }
  }

  /// \p{L}, \p{^Lu}, \pL, \p{Han}: categories are the same everywhere, a script by itself is one without extensions.
  void property(char sign) {
    out_ += '\\';
    out_ += sign;
    if (!next_is("{")) {
      if (at_ == pattern_.size()) refuse("'\\p' at its end");
      out_ += take();
      return;
    }
    const std::size_t close = pattern_.find('}', at_);
    if (close == std::string_view::npos) refuse("'\\p{' without '}'");
    std::string_view name = pattern_.substr(at_ + 1, close - at_ - 1);
    at_ = close + 1;
    out_ += '{';
    if (name.starts_with('^')) {
      out_ += '^';
      name.remove_prefix(1);
    }
    if (name.size() > 2) out_ += "sc:";
    out_ += name;
    out_ += '}';
  }

  std::string_view pattern_, owner_;
  bool rust_;
  std::string word_, out_;
  std::size_t at_ = 0;
  bool in_class_ = false;
};

}  // namespace

std::string to_pcre2(std::string_view pattern, RegexFlavour flavour, std::string_view owner) {
  return Translation(pattern, flavour, owner).run();
}

}  // namespace longspan
