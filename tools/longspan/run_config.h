// The configuration of a training run: {"model": {...}, "train": {...}}, complete in a model folder's config.json.
#pragma once

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
  Json base;                          ///< configuration of a run that is resumed, or null
  std::string file;                   ///< --config, or ""
  std::string attention;              ///< --attention, or ""
  std::vector<std::string> settings;  ///< --set path.to.field=value
};

/// Throws InputError for an unknown field, with the nearest known name, and for values out of range.
RunConfig read_run_config(const RunConfigSources& sources);

}  // namespace longspan::tool
