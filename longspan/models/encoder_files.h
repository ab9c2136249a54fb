// A model of a task is a folder, as a language model is: `config.json`, `model.safetensors`, and `tokenizer.json` or
// `tokenizer.model`.
#pragma once

#include <memory>
#include <string>

#include "longspan/io/json.h"
#include "longspan/models/encoder_model.h"
#include "longspan/models/model_files.h"
#include "longspan/text/tokenizer.h"

namespace longspan::models {

/// Writes or replaces the files, each one atomically; creates the folder. config.json holds {"encoder": complete
/// configuration, "head": likewise} and the members of `extra` beside them. RunError when a file cannot be written.
void save_encoder(const std::string& folder, const EncoderModel& model, const Tokenizer& tokenizer,
                  const Json& extra = {});

struct LoadedEncoder {
  std::shared_ptr<EncoderModel> model;  ///< in evaluation mode
  std::unique_ptr<Tokenizer> tokenizer;
  Json config;  ///< the whole config.json
};

/// Throws InputError for a folder that lacks a file, and for weights that do not fit, naming the first tensor that
/// differs. What does not fit is refused before a model is made.
LoadedEncoder load_encoder(const std::string& folder);

/// As check_weights() of a language model.
void check_weights(const SafetensorsFile& file, const EncoderConfig& encoder, const HeadConfig& head,
                   const std::string& prefix = "");

/// Copies what the file of another model of a task has of this one's weights, as init_weights() of a language model
/// does; a head of another kind, or with other labels, is left over. A shorter table of learned positions in the
/// folder fills the first rows.
InitialWeights init_weights(const std::string& folder, const Tokenizer& tokenizer, EncoderModel& model);

/// InputError unless a tokenizer and the special tokens behind it fill the vocabulary, or the vocabulary is that of the
/// tokenizer itself.
void check_vocabulary(const EncoderConfig& config, const Tokenizer& tokenizer, const std::string& owner);

}  // namespace longspan::models
