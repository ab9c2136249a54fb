// What the file of a stream's state must hold, checked before a tensor is made of it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "longspan/io/safetensors.h"

namespace longspan {

inline constexpr const char* kStateFormat = "longspan.state.1";
/// Tokens that each stream has read, int64 [batch]; tensors whose names end in ".count" must equal it.
inline constexpr const char* kStatePositions = "positions";

/// Element type and sizes of a tensor, the batch row first.
struct TensorLayout {
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
};

/// Throws InputError "<path>: ..." unless `file` is the state of streams of the model with the identity `model`, and
/// one into which `first`, the tensors of a fresh state of one stream, can have grown: the batch is free and the same
/// in all, so is what was empty at first (a cache), float32 may have become bfloat16 (autocast), counters lie from 0 to
/// 2^53 and agree, and the fingerprint is that of the content. Every dimension of `first` but the batch is at least 0.
void check_state_file(const SafetensorsFile& file, const std::string& model,
                      const std::map<std::string, TensorLayout>& first);

}  // namespace longspan
