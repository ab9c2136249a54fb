// What a language model is made of: one struct, complete in `config.json`.
#pragma once

#include <cstdint>
#include <string>

#include "longspan/base/fields.h"
#include "longspan/io/json.h"

namespace longspan::models {

/// gpt2: pre-LayerNorm (eps 1e-5), exact GELU, biases. llama: RMSNorm (eps 1e-5), SwiGLU, no biases.
enum class Shape { gpt2, llama };
/// How a token's position enters. sinusoidal: the embedding is sqrt(E) * embedding + [sin | cos] as in the benchmark of
/// the LAVO authors; learned: a table of max_positions rows is added, the only kind with a maximum length; rotary:
/// every layer turns q and k of its attention.
enum class Positions { none, sinusoidal, learned, rotary };

struct ModelConfig {
  std::string attention = "lavo";  ///< a name of the registry
  FieldValues attention_options;   ///< as the registry's entry defines them; null or absent = default
  int64_t layers = 4;
  int64_t width = 128;         ///< E
  int64_t heads = 4;           ///< H, divides E
  int64_t kv_heads = 0;        ///< heads of keys and values, a divisor of H; 0 means H
  int64_t feed_forward = 512;  ///< inner width of the feed-forward part (llama: of the gated product)
  int64_t vocabulary = 256;    ///< V
  Shape shape = Shape::gpt2;
  Positions positions = Positions::none;
  int64_t max_positions = 2048;  ///< rows of the learned table, unused otherwise
  double rotary_base = 10000;    ///< pair i of a head's D / 2 turns by base^(-2i / D) a position; rotary alone
  bool tied = true;              ///< the head is the embedding
  double dropout = 0;            ///< on the output of both residual branches, in training mode
};

/// Every field but `attention_options`, whose fields belong to the attention.
const FieldTable<ModelConfig>& model_fields();

/// Checks ranges, divisibility, the attention's name and its options; throws InputError with one line.
void validate(const ModelConfig& config);

/// Every field; of the attention's options those that are set (LanguageModel::config() has all of them set).
Json to_json(const ModelConfig& config);

/// Sets the fields named in `json` (and those inside its "attention_options") and leaves the rest as it is; when the
/// attention's name changes, the options of the old one are dropped. An unknown field is an InputError with the nearest
/// known name.
void merge_json(ModelConfig& config, const Json& json);
/// merge_json into the defaults.
ModelConfig config_from_json(const Json& json);

/// Equal when the complete configurations are, so an option written out equals the same option left at its default.
bool operator==(const ModelConfig& a, const ModelConfig& b);

}  // namespace longspan::models
