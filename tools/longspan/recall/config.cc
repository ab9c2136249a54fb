#include "tools/longspan/recall/config.h"

#include "longspan/base/check.h"
#include "longspan/tasks/recall.h"
#include "tools/longspan/settings.h"

namespace longspan::tool {

namespace {

void merge(RecallConfig& config, const Json& json, const std::string& origin, bool complete) {
  LONGSPAN_CHECK(json.is_object(), origin, ": expected an object with \"model\", \"train\" and \"recall\"");
  for (const auto& [name, value] : json.items()) {
    if (name == "model") {
      LONGSPAN_CHECK(complete || !value.is_object() || !value.contains("vocabulary"), origin,
                     ": model.vocabulary follows from recall.keys, values and fillers");
      models::merge_json(config.model, value);
    } else if (name == "train") {
      if (!complete && value.is_object())
        for (const std::string& field : unused_in_recall())
          LONGSPAN_CHECK(!value.contains(field), origin, ": train.", field, " has no use for recall");
      train::merge_json(config.train, value);
    } else if (name == "recall") {
      longspan::merge_json(config.recall, value);
    } else {
      const std::string near = nearest_name(name, {"model", "train", "recall"});
      throw InputError(str_cat(origin, ": unknown field '", name, "'",
                               near.empty() ? "; known fields: model train recall" : "; did you mean '" + near + "'?"));
    }
  }
}

}  // namespace

const std::vector<std::string>& unused_in_recall() {
  static const std::vector<std::string> names = {"sequences",   "reset_at_documents", "peer_timeout",
                                                 "valid_every", "valid_blocks",       "keep_best"};
  return names;
}

RecallConfig read_recall_config(const RecallSources& sources) {
  RecallConfig config;
  config.model = tasks::recall_model(resolved(config.recall));
  config.train = tasks::recall_training();
  if (!sources.base.is_null()) merge(config, sources.base, "base", true);
  if (!sources.file.empty()) merge(config, load_json(sources.file), sources.file, true);
  if (!sources.attention.empty())
    merge(config, Json{{"model", {{"attention", sources.attention}}}}, "--attention", false);
  Json settings = Json::object();
  for (const std::string& setting : sources.settings) apply_setting(settings, setting);
  merge(config, settings, "--set", false);
  if (!sources.model_flags.empty()) models::merge_json(config.model, longspan::to_json(sources.model_flags));
  if (!sources.train_flags.empty()) train::merge_json(config.train, longspan::to_json(sources.train_flags));
  if (!sources.recall_flags.empty()) longspan::merge_json(config.recall, longspan::to_json(sources.recall_flags));
  config.recall = resolved(config.recall);
  config.model.vocabulary = recall_vocabulary(config.recall);
  models::validate(config.model);
  train::validate(config.train);
  stage_length(config.recall, config.train.length, 0, config.train.steps);  // that length can be halved so often
  return config;
}

Json to_json(const RecallConfig& config) {
  return {{"model", models::to_json(config.model)},
          {"train", train::to_json(config.train)},
          {"recall", longspan::to_json(config.recall)}};
}

}  // namespace longspan::tool
