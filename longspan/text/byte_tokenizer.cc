#include "longspan/text/byte_tokenizer.h"

#include "longspan/base/check.h"

namespace longspan {

std::vector<uint32_t> ByteTokenizer::encode(std::string_view text) const {
  std::vector<uint32_t> tokens(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) tokens[i] = static_cast<unsigned char>(text[i]);
  return tokens;
}

std::string ByteTokenizer::decode(std::span<const uint32_t> tokens) const {
  std::string text(tokens.size(), '\0');
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    LONGSPAN_CHECK(tokens[i] < 256, "tokenizer bytes: token must be below 256, got ", tokens[i]);
    text[i] = static_cast<char>(tokens[i]);
  }
  return text;
}

FieldValues ByteTokenizer::description() const { return {{"tokenizer", name()}}; }

}  // namespace longspan
