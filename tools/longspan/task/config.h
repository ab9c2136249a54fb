// The configuration of a task: {"encoder": {...}, "head": {...}, "task": {...}}, complete in a model's config.json.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "longspan/io/json.h"
#include "longspan/models/encoder_config.h"
#include "longspan/models/encoder_heads.h"
#include "longspan/tasks/options.h"

namespace longspan::tool {

struct TaskConfig {
  models::EncoderConfig encoder;
  models::HeadConfig head;  ///< kind and labels are those of the data
  tasks::TaskOptions task;
  bool positions_given = false;  ///< somebody said how many positions the encoder has
};

/// What a command line says about it, from weakest to strongest.
struct TaskConfigSources {
  std::string preset;                                   ///< of an encoder, or ""
  std::optional<models::SpecialTokens> special_tokens;  ///< of the tokenizer itself, where no preset is named
  Json base;                          ///< configuration of a run that is resumed or a model begun from, or null
  std::string file;                   ///< --config, or ""
  std::string attention;              ///< --attention, or ""
  std::vector<std::string> settings;  ///< --set path.to.field=value
  FieldValues encoder_flags, head_flags, task_flags;
};

/// Throws InputError for an unknown field, with the nearest known name, and for values out of range.
TaskConfig read_task_config(const TaskConfigSources& sources);

}  // namespace longspan::tool
