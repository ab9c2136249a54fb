// Everything a language model keeps of the streams it is reading.
#pragma once

#include <string>
#include <vector>

#include "longspan/nn/state.h"

namespace longspan::models {

class LanguageModel;

/// A value: copy it, select rows of it, save it, go on in another process.
struct ModelState {
  std::vector<nn::State> layers;
  at::Tensor positions;  ///< [B] int64: tokens consumed by each stream

  int64_t batch() const { return positions.defined() ? positions.size(0) : 0; }
  int64_t bytes() const;
  ModelState clone() const;
  ModelState detach() const;
  /// The rows `index` [K] in that order.
  ModelState select(const at::Tensor& index) const;
  /// The streams of `states` (of one model, at least one), one behind the other; caches are padded to the longest.
  static ModelState stack(const std::vector<ModelState>& states);
};

/// Writes `state` to a safetensors file bound to the model's configuration and weights, atomically.
void save_state(const std::string& path, const LanguageModel& model, const ModelState& state);

/// Throws InputError naming what differs when the file is damaged, belongs to another configuration, number format or
/// other weights, or holds anything that no state of this model can hold.
ModelState load_state(const std::string& path, const LanguageModel& model);

}  // namespace longspan::models
