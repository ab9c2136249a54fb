// Regular expressions of tokenizers, by PCRE2.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace longspan {

/// Whose meaning the classes have where engines differ.
enum class RegexFlavour {
  rust,       ///< \w is Nd of the numbers, and the joiners; $ is the end of the text (tiktoken; fixed patterns)
  oniguruma,  ///< \w is all numbers; $ is the end of a line (patterns within tokenizer.json)
};

/// A pattern with the meaning that it has where the tokenizer comes from, whatever PCRE2's own: \s is White_Space, \w
/// is Alphabetic, marks, connectors and numbers, \d is Nd, \p{Han} is a script. What would mean something else
/// is refused. Immutable, safe for several threads, each with a Scratch of its own.
class Regex {
 public:
  /// What a thread needs to match; works for any Regex.
  class Scratch {
   public:
    Scratch();
    ~Scratch();
    Scratch(Scratch&&) noexcept;
    Scratch& operator=(Scratch&&) noexcept;

   private:
    friend class Regex;
    struct Parts;
    std::unique_ptr<Parts> parts_;
  };

  /// Throws InputError "<owner>: ..." for a pattern that is wrong or means something else to PCRE2.
  Regex(std::string_view pattern, RegexFlavour flavour, std::string_view owner);
  ~Regex();
  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;

  /// The first match that begins at or after `from`; false when there is none. `text` must be valid UTF-8, `from` at a
  /// character. Throws RunError for a pattern that backtracks without end on this text.
  bool find(std::string_view text, std::size_t from, std::size_t& begin, std::size_t& end, Scratch& scratch) const;

  /// All matches from left to right, none within another, as an iterator of the original engine gives them.
  template <class Use>
  void for_each(std::string_view text, Scratch& scratch, Use&& use) const {
    std::size_t from = 0, begin = 0, end = 0, last = std::string_view::npos;
    while (from <= text.size() && find(text, from, begin, end, scratch)) {
      if (begin == end) {  // an empty match: never where the last one ended, and the search goes on behind a character
        if (begin != last) use(begin, end);
        from = next_character(text, end);
      } else {
        use(begin, end);
        from = end;
      }
      last = end;
    }
  }

 private:
  static std::size_t next_character(std::string_view text, std::size_t at);
  struct Code;
  std::unique_ptr<Code> code_;
};

/// `pattern` in PCRE2's own words. Throws InputError as the constructor of Regex; for tests.
std::string to_pcre2(std::string_view pattern, RegexFlavour flavour, std::string_view owner);

}  // namespace longspan
