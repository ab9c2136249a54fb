#include "longspan/text/subword/tokenizer_json.h"

#include "longspan/text/subword/json_object.h"

namespace longspan {

namespace {

std::vector<AddedToken> read_added(const Json& json, const std::string& owner, const Vocabulary& vocabulary) {
  LONGSPAN_CHECK(json.is_array(), owner, ": expected a list, got ", json.type_name());
  std::vector<AddedToken> out;
  for (std::size_t i = 0; i < json.size(); ++i) {
    JsonObject object(json[i], str_cat(owner, "[", i, "]"));
    AddedToken token;
    token.id = object.number("id");
    token.content = object.text("content");
    token.single_word = object.flag("single_word", false);
    token.lstrip = object.flag("lstrip", false);
    token.rstrip = object.flag("rstrip", false);
    token.special = object.flag("special", false);
    token.normalized = object.flag("normalized", !token.special);
    object.finish();
    LONGSPAN_CHECK(!token.content.empty(), object.owner(), ": content is empty");
    const auto own = vocabulary.find(token.content);
    LONGSPAN_CHECK(!own || *own == token.id, object.owner(), ": ", in_quotes(token.content), " has the number ",
                   token.id, ", but ", *own, " in the model's vocabulary");
    out.push_back(std::move(token));
  }
  return out;
}

}  // namespace

std::string read_pattern(const Json& json, const std::string& owner, bool& plain) {
  JsonObject object(json, owner);
  const auto text = object.optional_text("String"), regex = object.optional_text("Regex");
  object.finish();
  LONGSPAN_CHECK(text.has_value() != regex.has_value(), owner, ": expected one of String, Regex");
  plain = text.has_value();
  return plain ? *text : *regex;
}

std::string quoted_pattern(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x80 && !std::isalnum(static_cast<unsigned char>(c))) out += '\\';
    out += c;
  }
  return out;
}

std::unique_ptr<SubwordTokenizer> read_tokenizer_json(std::string content, std::string_view origin) {
  const Json json = parse_json(content, origin);
  JsonObject object(json, std::string(origin));
  const std::string version = object.text("version");
  LONGSPAN_CHECK(version == "1.0", origin, ": version must be 1.0, got ", in_quotes(version));
  LONGSPAN_CHECK(!object.find("truncation"), origin, ": truncation is not supported, set it to null");
  LONGSPAN_CHECK(!object.find("padding"), origin, ": padding is not supported, set it to null");
  SubwordParts parts;
  bool bytes = false;
  if (const Json* found = object.find("normalizer"))
    read_normalizer(*found, object.owner_of("normalizer"), parts.normalizers);
  if (const Json* found = object.find("pre_tokenizer"))
    read_pre_tokenizer(*found, object.owner_of("pre_tokenizer"), parts.pre_tokenizers, bytes);
  parts.model = read_model(object.at("model"), object.owner_of("model"), bytes);
  if (const Json* found = object.find("added_tokens"))
    parts.added = read_added(*found, object.owner_of("added_tokens"), parts.model->vocabulary());
  if (const Json* found = object.find("post_processor"))
    parts.special = read_post_processor(*found, object.owner_of("post_processor"));
  if (const Json* found = object.find("decoder"))
    read_decoder(*found, object.owner_of("decoder"), bytes, parts.decoder);
  else
    parts.decoder.push_back(std::make_unique<BlanksDecoder>());
  object.finish();
  parts.file = std::move(content);
  return std::make_unique<SubwordTokenizer>(std::move(parts), origin);
}

}  // namespace longspan
