#include "run_config.h"

#include "longspan/base/check.h"
#include "settings.h"

namespace longspan::tool {

namespace {

void merge(RunConfig& config, const Json& json, const std::string& origin) {
  LONGSPAN_CHECK(json.is_object(), origin, ": expected an object with \"model\" and \"train\"");
  for (const auto& [name, value] : json.items()) {
    if (name == "model") {
      models::merge_json(config.model, value);
    } else if (name == "train") {
      train::merge_json(config.train, value);
    } else if (name == "data") {
      // The config.json of a model says what it was trained on.
    } else {
      const std::string near = nearest_name(name, {"model", "train"});
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
  if (!sources.file.empty()) merge(config, load_json(sources.file), sources.file);
  if (!sources.attention.empty()) merge(config, Json{{"model", {{"attention", sources.attention}}}}, "--attention");
  Json settings = Json::object();
  for (const std::string& setting : sources.settings) apply_setting(settings, setting);
  merge(config, settings, "--set");
  if (!sources.model_flags.empty()) models::merge_json(config.model, to_json(sources.model_flags));
  if (!sources.train_flags.empty()) train::merge_json(config.train, to_json(sources.train_flags));
  return config;
}

}  // namespace longspan::tool
