// From bytes as they come to tokens with their bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "longspan/text/tokenizer.h"

namespace longspan::tool {

/// Tokens and the bytes of the source that each stands for (Encoding::source_bytes).
struct FedTokens {
  std::vector<int64_t> tokens;
  std::vector<std::string> bytes;
};

/// Encodes an endless text piece by piece with the tokens of the whole (text/pieces.h). What cannot be encoded yet, or
/// gave no token and so belongs to the next one, waits in `rest`, which belongs to the caller (it is a session's
/// `text`) and must outlive the feed. Text without a token at the very end, or of more than kLongestPiece, counts for
/// none.
class TokenFeed {
 public:
  TokenFeed(const Tokenizer& tokenizer, std::string& rest) : tokenizer_(tokenizer), rest_(rest) {}

  /// Throws InputError for text that the tokenizer cannot read, naming the place.
  FedTokens push(std::string_view bytes);
  /// The text ends here: encodes the rest.
  FedTokens finish();

 private:
  FedTokens encode(bool last);

  const Tokenizer& tokenizer_;
  std::string& rest_;
  int64_t taken_ = 0;  ///< bytes that have left `rest`
};

}  // namespace longspan::tool
