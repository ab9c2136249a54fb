#include "longspan/text/tokenizer.h"

#include "longspan/base/check.h"
#include "longspan/text/byte_tokenizer.h"

namespace longspan {

namespace {

struct Description {
  std::string tokenizer;
};

struct Entry {
  const char* name;
  std::unique_ptr<Tokenizer> (*make)();
};
constexpr Entry kTokenizers[] = {
    {"bytes", [] { return std::unique_ptr<Tokenizer>(std::make_unique<ByteTokenizer>()); }},
};

}  // namespace

Encoding Tokenizer::encode_aligned(std::string_view text) const {
  LONGSPAN_ASSERT(is_bytewise(), name(), " must say itself what its tokens stand for");
  return {encode(text), std::vector<uint32_t>(text.size(), 1)};
}

std::string Tokenizer::token_text(uint32_t token, bool) const { return decode(std::span(&token, 1)); }

std::unique_ptr<Tokenizer> make_tokenizer(const FieldValues& description, std::string_view origin) {
  static const auto fields =
      FieldTable<Description>("tokenizer").text("tokenizer", &Description::tokenizer, "name of the tokenizer");
  Description parsed;
  try {
    parsed = fields.parse(description);
  } catch (const InputError& error) {
    throw InputError(str_cat(origin, ": ", error.what()));
  }
  std::string known;
  for (const auto& [name, make] : kTokenizers) {
    if (parsed.tokenizer == name) return make();
    known += (known.empty() ? "" : ", ") + std::string(name);
  }
  throw InputError(str_cat(origin, ": unknown tokenizer '", parsed.tokenizer, "', expected one of: ", known));
}

std::vector<std::string> tokenizer_names() {
  std::vector<std::string> names;
  for (const auto& [name, make] : kTokenizers) names.emplace_back(name);
  return names;
}

}  // namespace longspan
