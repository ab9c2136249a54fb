// From bytes as they come to tokens with their bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "longspan/text/tokenizer.h"

namespace longspan::tool {

/// Tokens and the source bytes of each.
struct FedTokens {
  std::vector<int64_t> tokens;
  std::vector<std::string> bytes;
};

/// Encodes an endless text piece by piece with the tokens of the whole. What cannot be encoded yet waits in `rest`,
/// which belongs to the caller (it is a session's `text`) and must outlive the feed.
class TokenFeed {
 public:
  TokenFeed(const Tokenizer& tokenizer, std::string& rest) : tokenizer_(tokenizer), rest_(rest) {}

  FedTokens push(std::string_view bytes);
  /// The text ends here: encodes the rest.
  FedTokens finish();

 private:
  FedTokens encode(std::size_t size);

  const Tokenizer& tokenizer_;
  std::string& rest_;
};

}  // namespace longspan::tool
