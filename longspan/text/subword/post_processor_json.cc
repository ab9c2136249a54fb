#include "longspan/text/subword/json_object.h"
#include "longspan/text/subword/tokenizer_json.h"

namespace longspan {

namespace {

using What = TemplatePart::What;

std::vector<TemplatePart> read_template(const Json::array_t& list, JsonObject& special, const std::string& owner,
                                        bool pair) {
  std::vector<TemplatePart> out;
  for (std::size_t i = 0; i < list.size(); ++i) {
    JsonObject object(list[i], str_cat(owner, "[", i, "]"));
    const Json *sequence = object.find("Sequence"), *token = object.find("SpecialToken");
    object.finish();
    LONGSPAN_CHECK((sequence != nullptr) != (token != nullptr), object.owner(),
                   ": expected one of Sequence, SpecialToken");
    JsonObject part(sequence ? *sequence : *token, object.owner());
    const std::string id = part.text("id");
    TemplatePart own;
    own.type = part.number("type_id");
    part.finish();
    if (sequence) {
      LONGSPAN_CHECK(id == "A" || (pair && id == "B"), part.owner(), ": id must be ", pair ? "A or B" : "A", ", got ",
                     in_quotes(id));
      own.what = id == "A" ? What::first : What::second;
    } else {
      JsonObject named(special.at(id), special.owner_of(id));
      named.ignore("id");
      named.ignore("tokens");
      own.what = What::special;
      for (const Json& number : named.list("ids"))
        own.ids.push_back(JsonObject::number_of(number, named.owner_of("ids")));
      named.finish();
    }
    out.push_back(std::move(own));
  }
  return out;
}

/// ["[SEP]", 102]
TemplatePart read_token(const Json& json, const std::string& owner, uint32_t type) {
  LONGSPAN_CHECK(json.is_array() && json.size() == 2 && json[0].is_string(), owner, ": expected a text and a number");
  return {What::special, {JsonObject::number_of(json[1], owner)}, type};
}

TemplatePart of_type(TemplatePart part, uint32_t type) {
  part.type = type;
  return part;
}

}  // namespace

SpecialTemplate read_post_processor(const Json& json, const std::string& owner) {
  JsonObject object(json, owner);
  const std::string type = object.text("type");
  SpecialTemplate out;
  if (type == "TemplateProcessing") {
    JsonObject special(object.at("special_tokens"), object.owner_of("special_tokens"));
    out.single = read_template(object.list("single"), special, object.owner_of("single"), false);
    out.pair = read_template(object.list("pair"), special, object.owner_of("pair"), true);
  } else if (type == "BertProcessing" || type == "RobertaProcessing") {
    const TemplatePart sep = read_token(object.at("sep"), object.owner_of("sep"), 0);
    const TemplatePart cls = read_token(object.at("cls"), object.owner_of("cls"), 0);
    const TemplatePart first = {What::first, {}, 0};
    out.single = {cls, first, sep};
    if (type == "BertProcessing") {
      out.pair = {cls, first, sep, {What::second, {}, 1}, of_type(sep, 1)};
    } else {
      object.ignore("trim_offsets");  // of offsets alone, and so is the next
      object.ignore("add_prefix_space");
      out.pair = {cls, first, sep, sep, {What::second, {}, 0}, sep};
    }
  } else if (type == "ByteLevel") {
    object.ignore("trim_offsets");
    object.ignore("add_prefix_space");
    object.ignore("use_regex");
  } else if (type == "Sequence") {
    bool done = false;
    const auto& steps = object.list("processors");
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const std::string own = str_cat(owner, "[", i, "]");
      SpecialTemplate step = read_post_processor(steps[i], own);
      if (JsonObject(steps[i], own).text("type") == "ByteLevel") continue;
      LONGSPAN_CHECK(!done, own, ": a second post-processor that adds tokens is not supported");
      done = true;
      out = std::move(step);
    }
  } else {
    object.refuse_type(type, "BertProcessing, ByteLevel, RobertaProcessing, Sequence, TemplateProcessing");
  }
  object.finish();
  return out;
}

}  // namespace longspan
