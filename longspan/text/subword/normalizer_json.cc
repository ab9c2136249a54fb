#include <cctype>

#include "longspan/text/subword/json_object.h"
#include "longspan/text/subword/precompiled.h"
#include "longspan/text/subword/tokenizer_json.h"

namespace longspan {

namespace {

std::unique_ptr<Normalizer> read_replace(JsonObject& object) {
  bool plain = false;
  const std::string pattern = read_pattern(object.at("pattern"), object.owner_of("pattern"), plain);
  // A blank by itself, and blanks in a row, are the same wherever the text is cut before them.
  const bool blanks = plain ? pattern == " " : pattern == " {2,}" || pattern == " +";
  const bool no_blank = plain && pattern.find_first_of(" \t\n\v\f\r") == std::string::npos;
  return std::make_unique<ReplaceNormalizer>(
      Regex(plain ? quoted_pattern(pattern) : pattern, RegexFlavour::oniguruma, object.owner()), object.text("content"),
      blanks || no_blank ? kCutAtBlanks : kCutNowhere);
}

std::unique_ptr<Normalizer> read_bert(JsonObject& object) {
  BertOptions options;
  options.clean_text = object.flag("clean_text", true);
  options.chinese_characters = object.flag("handle_chinese_chars", true);
  options.lowercase = object.flag("lowercase", true);
  options.strip_accents = object.flag("strip_accents", options.lowercase);
  return std::make_unique<BertNormalizer>(options);
}

}  // namespace

void read_normalizer(const Json& json, const std::string& owner, NormalizerList& out) {
  JsonObject object(json, owner);
  const std::string type = object.text("type");
  if (type == "Sequence") {
    const auto& steps = object.list("normalizers");
    for (std::size_t i = 0; i < steps.size(); ++i) read_normalizer(steps[i], str_cat(owner, "[", i, "]"), out);
  } else if (type == "NFC") {
    out.push_back(std::make_unique<FormNormalizer>(unicode::Form::nfc));
  } else if (type == "NFD") {
    out.push_back(std::make_unique<FormNormalizer>(unicode::Form::nfd));
  } else if (type == "NFKC") {
    out.push_back(std::make_unique<FormNormalizer>(unicode::Form::nfkc));
  } else if (type == "NFKD") {
    out.push_back(std::make_unique<FormNormalizer>(unicode::Form::nfkd));
  } else if (type == "Nmt") {
    out.push_back(std::make_unique<NmtNormalizer>());
  } else if (type == "Lowercase") {
    out.push_back(std::make_unique<LowercaseNormalizer>());
  } else if (type == "StripAccents") {
    out.push_back(std::make_unique<StripAccentsNormalizer>());
  } else if (type == "Strip") {
    out.push_back(std::make_unique<StripNormalizer>(object.flag("strip_left", true), object.flag("strip_right", true)));
  } else if (type == "Prepend") {
    out.push_back(std::make_unique<PrependNormalizer>(object.text("prepend")));
  } else if (type == "Replace") {
    out.push_back(read_replace(object));
  } else if (type == "BertNormalizer") {
    out.push_back(read_bert(object));
  } else if (type == "Precompiled") {
    out.push_back(std::make_unique<PrecompiledNormalizer>(object.text("precompiled_charsmap"), owner));
  } else {
    object.refuse_type(type,
                       "BertNormalizer, Lowercase, NFC, NFD, NFKC, NFKD, Nmt, Precompiled, Prepend, Replace, Sequence, "
                       "Strip, StripAccents");
  }
  object.finish();
}

}  // namespace longspan
