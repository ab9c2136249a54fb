#include "longspan/text/tokenizer.h"

#include "longspan/base/check.h"
#include "longspan/text/byte_tokenizer.h"

namespace longspan {

namespace {

struct Description {
  std::string tokenizer;
};

}  // namespace

std::unique_ptr<Tokenizer> make_tokenizer(const FieldValues& description, std::string_view origin) {
  static const auto fields =
      FieldTable<Description>("tokenizer").text("tokenizer", &Description::tokenizer, "name of the tokenizer");
  Description parsed;
  try {
    parsed = fields.parse(description);
  } catch (const InputError& error) {
    throw InputError(str_cat(origin, ": ", error.what()));
  }
  if (parsed.tokenizer == "bytes") return std::make_unique<ByteTokenizer>();
  throw InputError(str_cat(origin, ": unknown tokenizer '", parsed.tokenizer, "', expected one of: bytes"));
}

std::vector<std::string> tokenizer_names() { return {"bytes"}; }

}  // namespace longspan
