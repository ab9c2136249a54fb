// What tokenizers ask of Unicode, by ICU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace longspan::unicode {

/// The character at the start of `text`, which must be valid UTF-8 and not empty, and its bytes.
struct Character {
  int32_t code;
  std::size_t size;
};
Character first(std::string_view text);
/// The character that ends at `end`.
Character before(std::string_view text, std::size_t end);
void append(std::string& out, int32_t code);

bool is_white_space(int32_t code);  ///< White_Space
bool is_letter(int32_t code);       ///< general category L
bool is_number(int32_t code);       ///< N
bool is_punctuation(int32_t code);  ///< P
bool is_nonspacing(int32_t code);   ///< Mn
bool is_mark(int32_t code);         ///< M
bool is_other(int32_t code);        ///< Cc, Cf or Co
bool is_seen(int32_t code);         ///< neither White_Space nor Cc nor Cf
bool is_word(int32_t code);         ///< \w of regular expressions: Alphabetic, M, Nd, Pc, Join_Control

/// Of a character, as a number: Hiragana, Katakana and the mark for long vowels are Han. U+0020 and what is no
/// character have none.
std::optional<int32_t> script(int32_t code);

enum class Form { nfc, nfd, nfkc, nfkd };
/// A character of a text in a normal form.
struct FormCharacter {
  int32_t code;
  uint8_t combining_class;
  std::size_t end;  ///< where in the text ends what it came from
};
/// `text`, which must be valid UTF-8, in a normal form. O(n log n), also for a text of marks alone.
std::vector<FormCharacter> normalized(std::string_view text, Form form);
/// Appends the lower case of a character, by itself (no rule for the end of a word).
void append_lower(std::string& out, int32_t code);

/// Clusters of characters that a reader takes for one (extended grapheme clusters).
class Clusters {
 public:
  /// `text` must be valid UTF-8 of less than 2^31 bytes, and outlive this.
  explicit Clusters(std::string_view text);
  ~Clusters();
  /// Where the cluster ends that begins at `begin`.
  std::size_t end_of(std::size_t begin);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
  std::string_view text_;
};

}  // namespace longspan::unicode
