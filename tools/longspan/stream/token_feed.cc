#include "token_feed.h"

#include <span>

#include "longspan/base/check.h"

namespace longspan::tool {

FedTokens TokenFeed::push(std::string_view bytes) {
  rest_ += bytes;
  return encode(rest_.size());
}

FedTokens TokenFeed::finish() { return encode(rest_.size()); }

FedTokens TokenFeed::encode(std::size_t size) {
  FedTokens out;
  for (const uint32_t token : tokenizer_.encode(std::string_view(rest_).substr(0, size))) {
    out.tokens.push_back(token);
    out.bytes.push_back(tokenizer_.decode(std::span(&token, 1)));
  }
  rest_.erase(0, size);
  return out;
}

}  // namespace longspan::tool
