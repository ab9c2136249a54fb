// A model is a folder: `config.json`, `model.safetensors`, `tokenizer.json`.
#pragma once

#include <memory>
#include <string>

#include "longspan/io/json.h"
#include "longspan/io/safetensors.h"
#include "longspan/models/language_model.h"
#include "longspan/text/tokenizer.h"

namespace longspan::models {

/// Writes or replaces the files, each one atomically; creates the folder. config.json holds {"model": complete
/// configuration} and the members of `extra` beside it (for example "train"). Throws RunError when a file cannot be
/// written.
void save_model(const std::string& folder, const LanguageModel& model, const Tokenizer& tokenizer,
                const Json& extra = {});

struct LoadedModel {
  std::shared_ptr<LanguageModel> model;  ///< in evaluation mode
  std::unique_ptr<Tokenizer> tokenizer;
  Json config;  ///< the whole config.json
};

/// Throws InputError for a folder that lacks a file, and for weights that do not fit, naming the first tensor that
/// differs (missing, extra, shape, dtype). What does not fit is refused before a model is made.
LoadedModel load_model(const std::string& folder);

/// Throws InputError unless `file` holds, under names that begin with `prefix`, every weight of a model with this
/// configuration in its shape (other tensors may be there too). Makes one block, and that only when the file has its
/// large parts in their sizes: a configuration cannot ask for memory that its weights do not fill.
void check_weights(const SafetensorsFile& file, const ModelConfig& config, const std::string& prefix = "");

/// The weights alone. `load_weights` checks everything before it changes anything.
void save_weights(const std::string& path, const LanguageModel& model);
void load_weights(const std::string& path, LanguageModel& model);

}  // namespace longspan::models
