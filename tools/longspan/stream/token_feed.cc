#include "token_feed.h"

#include "longspan/base/check.h"
#include "longspan/text/pieces.h"
#include "longspan/text/utf8.h"

namespace longspan::tool {

FedTokens TokenFeed::push(std::string_view bytes) {
  rest_ += bytes;
  return encode(false);
}

FedTokens TokenFeed::finish() {
  FedTokens out = encode(true);
  rest_.clear();
  return out;
}

FedTokens TokenFeed::encode(bool last) {
  FedTokens out;
  const std::string_view rest = rest_;
  std::size_t begin = 0, at = 0;  // of what has no token yet, and of what is not encoded
  while (at < rest.size()) {
    const std::string_view piece = rest.substr(at, tokenizer_.piece_end(rest.substr(at), last));
    if (piece.empty()) break;
    const std::size_t wrong = tokenizer_.is_bytewise() ? std::string_view::npos : invalid_utf8(piece);
    LONGSPAN_CHECK(wrong == std::string_view::npos, "the text is not UTF-8 at byte ",
                   taken_ + static_cast<int64_t>(at + wrong), ", but the model's tokenizer ", tokenizer_.name(),
                   " reads nothing else");
    const Encoding encoding = tokenizer_.encode_aligned(piece);
    std::size_t end = at;
    for (std::size_t i = 0; i < encoding.tokens.size(); ++i) {
      end += encoding.source_bytes[i];
      out.tokens.push_back(encoding.tokens[i]);
      out.bytes.emplace_back(rest.substr(begin, end - begin));
      begin = end;
    }
    at += piece.size();
    if (at - begin > kLongestPiece) begin = at;
  }
  taken_ += static_cast<int64_t>(begin);
  rest_.erase(0, begin);
  return out;
}

}  // namespace longspan::tool
