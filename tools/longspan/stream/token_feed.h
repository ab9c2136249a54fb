// From bytes as they come to tokens with their bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "longspan/text/tokenizer.h"

namespace longspan::tool {

/// A token with the text that it stands for.
struct FedToken {
  int64_t token = 0;
  std::string silent;  ///< text just before it that has no token, such as empty lines in SentencePiece
  std::string bytes;
};

/// Encodes an endless text piece by piece with the tokens of the whole. What cannot be encoded yet waits in `rest`,
/// which belongs to the caller (it is a session's `text`) and, like the tokenizer, must outlive the feed.
class TokenFeed {
 public:
  /// `name` of the text for messages.
  TokenFeed(const Tokenizer& tokenizer, std::string& rest, std::string name)
      : tokenizer_(tokenizer), rest_(rest), name_(std::move(name)) {}

  /// InputError naming the place for what the tokenizer cannot read.
  std::vector<FedToken> push(std::string_view bytes);
  /// The text ends here: encodes the rest.
  std::vector<FedToken> finish() { return encode(true); }
  /// Text after the last token that has none; it is not given out a second time.
  std::string take_silent();

 private:
  std::vector<FedToken> encode(bool last);

  const Tokenizer& tokenizer_;
  std::string& rest_;
  std::string name_, silent_;
  int64_t pushed_ = 0;  ///< bytes
};

/// The token numbers alone.
std::vector<int64_t> numbers_of(const std::vector<FedToken>& tokens);

}  // namespace longspan::tool
