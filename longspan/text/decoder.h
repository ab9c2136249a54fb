// Text from tokens as they come.
#pragma once

#include <cstdint>
#include <string>

#include "longspan/text/tokenizer.h"

namespace longspan {

/// Decodes token by token: what push() returned so far, joined, is decode() of all tokens so far.
class TokenDecoder {
 public:
  /// `tokenizer` must outlive this. `line_start`: false to go on in the middle of a line.
  explicit TokenDecoder(const Tokenizer& tokenizer, bool line_start = true)
      : tokenizer_(tokenizer), line_start_(line_start) {}

  /// Text that `token` adds; it may end within a character (text/utf8.h: whole_characters()). Throws InputError for a
  /// token outside the vocabulary.
  std::string push(uint32_t token) {
    std::string text = tokenizer_.token_text(token, line_start_);
    // A token whose blank was taken away has begun its line, a control token, which has no text anywhere, has not.
    if (!text.empty() || !tokenizer_.token_text(token, false).empty())
      line_start_ = text.ends_with('\n') && tokenizer_.starts_anew_at_lines();
    return text;
  }

 private:
  const Tokenizer& tokenizer_;
  bool line_start_;
};

}  // namespace longspan
