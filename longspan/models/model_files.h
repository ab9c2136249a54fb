// A model is a folder: `config.json`, `model.safetensors`, and `tokenizer.json` or `tokenizer.model`.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "longspan/io/json.h"
#include "longspan/io/safetensors.h"
#include "longspan/models/blocks.h"
#include "longspan/models/language_model.h"
#include "longspan/models/tensor_files.h"
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

/// What a model did and did not take over.
struct InitialWeights {
  std::vector<std::string> missing;    ///< weights of the model that the file lacks: they stay as they were drawn
  std::vector<std::string> left_over;  ///< tensors of the file that the model has no place for
};

/// Copies the weights of `<folder>/model.safetensors` into a model that may have another attention or other options;
/// what it was given when it was made (nn::kGivenBuffer) stays.
/// Throws InputError, before anything is changed, that names the first weight whose shape or dtype differs, or when no
/// weight has its name; for a folder that lacks a file; and when its tokenizer is not `tokenizer`.
InitialWeights init_weights(const std::string& folder, const Tokenizer& tokenizer, LanguageModel& model);

/// What models of every kind share. The files of a folder; `config`: the whole config.json.
void save_model_files(const std::string& folder, const Json& config, const NamedTensors& weights,
                      const Tokenizer& tokenizer);
/// config.json of the folder of a model; InputError when the folder or the file is missing, or one of `members` is not
/// in it.
Json model_config(const std::string& folder, const std::vector<std::string>& members);
/// InputError unless `file` holds every block of a model under names that begin with `prefix`. Makes one block, when
/// the file has its large parts in their sizes.
void check_blocks(const SafetensorsFile& file, const BlockOptions& options, const std::string& prefix);
/// init_weights() into tensors.
InitialWeights init_weights(const std::string& folder, const Tokenizer& tokenizer, NamedTensors into);

/// The weights alone. `load_weights` checks everything before it changes anything.
void save_weights(const std::string& path, const LanguageModel& model);
void load_weights(const std::string& path, LanguageModel& model);

}  // namespace longspan::models
