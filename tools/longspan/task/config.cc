#include "tools/longspan/task/config.h"

#include "longspan/base/check.h"
#include "tools/longspan/settings.h"

namespace longspan::tool {

namespace {

/// Labels and kind follow from the data, whatever a file says.
void merge_head(models::HeadConfig& head, Json json) {
  if (json.is_object())
    for (const char* name : {"kind", "labels", "may_be_empty"}) json.erase(name);
  models::head_fields().apply(head, to_field_values(json, "head"));
}

void merge(TaskConfig& config, const Json& json, const std::string& origin) {
  LONGSPAN_CHECK(json.is_object(), origin, ": expected an object with \"encoder\", \"head\" and \"task\"");
  for (const auto& [name, value] : json.items()) {
    if (name == "encoder") {
      models::merge_json(config.encoder, value);
      config.positions_given |= value.contains("max_positions");
    } else if (name == "head") {
      merge_head(config.head, value);
    } else if (name == "task") {
      tasks::merge_json(config.task, value);
    } else if (name == "data") {
      // The config.json of a model says what it was trained on.
    } else {
      const std::string near = nearest_name(name, {"encoder", "head", "task"});
      throw InputError(str_cat(origin, ": unknown field '", name, "'",
                               near.empty() ? "; known fields: encoder head task" : "; did you mean '" + near + "'?"));
    }
  }
}

/// What the data or the tokenizer decides cannot be set beside them.
void refuse_derived(const Json& settings, bool own_vocabulary) {
  const auto given = [&](const char* part, const char* field) {
    return settings.contains(part) && settings[part].is_object() && settings[part].contains(field);
  };
  LONGSPAN_CHECK(!settings.contains("data"), "--set: 'data' only records what a model was trained on; use --data");
  for (const char* name : {"kind", "labels", "may_be_empty"})
    LONGSPAN_CHECK(!given("head", name), "--set: 'head.", name, "' follows from the task and its data");
  LONGSPAN_CHECK(own_vocabulary || !given("encoder", "vocabulary"),
                 "--set: 'encoder.vocabulary' follows from the tokenizer; use --tokenizer");
}

void set_special_tokens(models::EncoderConfig& encoder, const models::SpecialTokens& special) {
  encoder.first_token = special.first;
  encoder.separator_token = special.separator;
  encoder.padding_token = special.padding;
  encoder.mask_token = special.mask;
  encoder.separators = special.between;
}

}  // namespace

TaskConfig read_task_config(const TaskConfigSources& sources) {
  TaskConfig config;
  if (!sources.preset.empty())
    config.encoder = models::encoder_preset(sources.preset);
  else if (sources.special_tokens)
    set_special_tokens(config.encoder, *sources.special_tokens);
  if (!sources.base.is_null()) merge(config, sources.base, "base");
  if (!sources.file.empty()) merge(config, load_json(sources.file), sources.file);
  if (!sources.attention.empty()) merge(config, Json{{"encoder", {{"attention", sources.attention}}}}, "--attention");
  Json settings = Json::object();
  for (const std::string& setting : sources.settings) apply_setting(settings, setting);
  refuse_derived(settings, !sources.preset.empty());
  merge(config, settings, "--set");
  if (!sources.encoder_flags.empty()) merge(config, Json{{"encoder", longspan::to_json(sources.encoder_flags)}}, "flags");
  if (!sources.head_flags.empty()) merge(config, Json{{"head", longspan::to_json(sources.head_flags)}}, "flags");
  if (!sources.task_flags.empty()) merge(config, Json{{"task", longspan::to_json(sources.task_flags)}}, "flags");
  return config;
}

}  // namespace longspan::tool
