#include "run_config.h"

#include <algorithm>

#include "longspan/base/check.h"
#include "settings.h"

namespace longspan::tool {

namespace {

/// In a file a number is a number: the fields' tables read text as one too, for the command line's sake.
void refuse_quoted(const std::string& origin, const std::string& group, const Json& object,
                   const std::vector<FieldInfo>& fields) {
  if (!object.is_object()) return;
  for (const FieldInfo& field : fields) {
    const bool text = field.kind == FieldInfo::Kind::text || field.kind == FieldInfo::Kind::choice;
    const auto value = object.find(field.name);
    LONGSPAN_CHECK(text || value == object.end() || !value->is_string(), origin, ": ", group, ".", field.name,
                   field.kind == FieldInfo::Kind::boolean ? " must be true or false" : " must be a number",
                   " without quotes, got ", value->dump(-1, ' ', false, Json::error_handler_t::replace));
  }
}

/// The user's file; `attention`: the one where the file names none.
Json checked_file(const RunConfigSources& sources, const std::string& attention) {
  const std::string& path = sources.file;
  Json json = load_json(path);
  if (!json.is_object()) return json;
  if (const auto train = json.find("train"); train != json.end())
    refuse_quoted(path, "train", *train, train::train_fields().infos());
  const auto model = json.find("model");
  if (model == json.end() || !model->is_object()) return json;
  refuse_quoted(path, "model", *model, models::model_fields().infos());
  const auto own = model->find("attention"), options = model->find("attention_options");
  const std::string name = own != model->end() && own->is_string() ? own->get<std::string>() : attention;
  if (options != model->end() && sources.attention_fields)
    refuse_quoted(path, "model.attention_options", *options, sources.attention_fields(name));
  return json;
}

void merge(RunConfig& config, const Json& json, const std::string& origin) {
  LONGSPAN_CHECK(json.is_object(), origin, ": expected an object with \"model\" and \"train\"");
  for (const auto& item : json.items()) {
    const std::string& name = item.key();
    const Json& value = item.value();
    if (name == "model") {
      models::merge_json(config.model, value);
    } else if (name == "train") {
      train::merge_json(config.train, value);
    } else if (name == "data") {
      // The config.json of a model says what it was trained on.
    } else {
      std::string near = nearest_name(name, {"model", "train"});
      const auto is_field = [&](const auto& fields) {
        return std::any_of(fields.begin(), fields.end(), [&](const FieldInfo& field) { return field.name == name; });
      };
      if (is_field(train::train_fields().infos())) near = "train." + name;
      if (is_field(models::model_fields().infos())) near = "model." + name;
      throw InputError(str_cat(origin, ": unknown field '", name, "'",
                               near.empty() ? "; known fields: model train" : "; did you mean '" + near + "'?"));
    }
  }
}

}  // namespace

RunConfig read_run_config(const RunConfigSources& sources) {
  RunConfig config;
  if (sources.vocabulary > 0) config.model.vocabulary = sources.vocabulary;
  if (!sources.base.is_null()) merge(config, sources.base, "base");
  if (!sources.file.empty()) merge(config, checked_file(sources, config.model.attention), sources.file);
  if (!sources.attention.empty()) merge(config, Json{{"model", {{"attention", sources.attention}}}}, "--attention");
  Json settings = Json::object();
  for (const std::string& setting : sources.settings) apply_setting(settings, setting);
  merge(config, settings, "--set");
  if (!sources.model_flags.empty()) models::merge_json(config.model, to_json(sources.model_flags));
  if (!sources.train_flags.empty()) train::merge_json(config.train, to_json(sources.train_flags));
  return config;
}

}  // namespace longspan::tool
