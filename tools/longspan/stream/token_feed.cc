#include "token_feed.h"

#include <algorithm>
#include <utility>

#include "longspan/base/check.h"
#include "longspan/text/utf8.h"

namespace longspan::tool {

std::vector<FedToken> TokenFeed::push(std::string_view bytes) {
  rest_ += bytes;
  pushed_ += static_cast<int64_t>(bytes.size());
  return encode(false);
}

std::string TokenFeed::take_silent() { return std::exchange(silent_, ""); }

std::vector<FedToken> TokenFeed::encode(bool last) {
  std::vector<FedToken> out;
  std::size_t begin = 0;
  while (begin < rest_.size()) {
    std::string_view piece = std::string_view(rest_).substr(begin);
    piece = piece.substr(0, tokenizer_.piece_end(piece, last));
    if (piece.empty()) break;
    if (const std::size_t wrong = tokenizer_.reads_any_bytes() ? std::string::npos : invalid_utf8(piece);
        wrong != std::string::npos) {
      // What an earlier session left counts from before the first byte of this one.
      const int64_t place = pushed_ - static_cast<int64_t>(rest_.size() - begin - wrong);
      throw InputError(str_cat(name_, ": is not UTF-8 at byte ", std::max<int64_t>(place, 0),
                               "; the model's tokenizer ", tokenizer_.name(), " reads nothing else"));
    }
    const Encoding encoding = tokenizer_.encode_aligned(piece);
    std::size_t at = 0;
    for (std::size_t i = 0; i < encoding.tokens.size(); ++i) {
      const std::size_t size = encoding.source_bytes[i];
      out.push_back({encoding.tokens[i], take_silent(), std::string(piece.substr(at, size))});
      at += size;
    }
    silent_ += piece.substr(at);
    begin += piece.size();
  }
  rest_.erase(0, begin);
  return out;
}

std::vector<int64_t> numbers_of(const std::vector<FedToken>& tokens) {
  std::vector<int64_t> out;
  for (const FedToken& token : tokens) out.push_back(token.token);
  return out;
}

}  // namespace longspan::tool
