// The configuration of a training run: {"model": {...}, "train": {...}}, complete in a model folder's config.json.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "longspan/io/json.h"
#include "longspan/models/config.h"
#include "longspan/train/options.h"

namespace longspan::tool {

struct RunConfig {
  models::ModelConfig model;
  train::TrainOptions train;
};

/// What a command line says about it, from weakest to strongest.
struct RunConfigSources {
  int64_t vocabulary = 0;                ///< of the data, 0 = as the model has it
  Json base;                             ///< configuration of a run that is resumed or a model begun from, or null
  std::string file;                      ///< --config, or ""
  std::string attention;                 ///< --attention, or ""
  std::vector<std::string> settings;     ///< --set path.to.field=value
  FieldValues model_flags, train_flags;  ///< --width 64, --steps 300, ...
  /// The fields of an attention by its name, none for an unknown one; where not given, those in `file` are not looked
  /// at for numbers in quotes.
  std::function<std::vector<FieldInfo>(const std::string& attention)> attention_fields = {};
};

/// Throws InputError for an unknown field, with the nearest known name, and for values out of range.
RunConfig read_run_config(const RunConfigSources& sources);

}  // namespace longspan::tool
