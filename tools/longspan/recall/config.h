// The configuration of a model of `recall`: {"model": {...}, "train": {...}, "recall": {...}}, complete in its
// config.json.
#pragma once

#include <string>
#include <vector>

#include "longspan/data/recall.h"
#include "longspan/io/json.h"
#include "longspan/models/config.h"
#include "longspan/train/options.h"

namespace longspan::tool {

struct RecallConfig {
  models::ModelConfig model;
  train::TrainOptions train;
  RecallOptions recall;  ///< resolved()
};

/// What a command line says about it, from weakest to strongest.
struct RecallSources {
  Json base;                          ///< configuration of a run that is resumed, or null
  std::string file;                   ///< --config, or ""
  std::string attention;              ///< --attention, or ""
  std::vector<std::string> settings;  ///< --set path.to.field=value
  FieldValues model_flags, train_flags, recall_flags;
};

/// Over the defaults of tasks/recall.h. InputError for an unknown field, with the nearest known name, for values out of
/// range, and for a field of training that made rows have no use for.
RecallConfig read_recall_config(const RecallSources& sources);

Json to_json(const RecallConfig& config);

/// Fields of training without a use here.
const std::vector<std::string>& unused_in_recall();

}  // namespace longspan::tool
