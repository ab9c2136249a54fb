// What the file of a stream's state must hold, checked before a tensor is made of it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "longspan/io/json.h"
#include "longspan/io/safetensors.h"

namespace longspan {

/// Tokens that each stream has read, int64 [batch]; tensors whose names end in ".count" must equal it.
inline constexpr const char* kStatePositions = "positions";

/// Element type and sizes of a state's tensor, the batch row first.
struct StateTensor {
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
};

/// A tensor that a file holds beside a state.
struct ExtraTensor {
  std::vector<DType> dtypes;  ///< any of them
  int64_t dimensions = 1;
  int64_t most = 0;  ///< rows at most
};

/// What a file must agree with.
struct ExpectedState {
  std::string format;
  Json configuration;   ///< of the model, complete
  std::string dtype;    ///< of its weights
  std::string weights;  ///< their fingerprint
  /// Of a fresh state of one stream; every dimension but the batch is at least 0.
  std::map<std::string, StateTensor> first;
  std::map<std::string, ExtraTensor> extra = {};
};

/// The fingerprint of a file's content: of `tensors`, their own fingerprint (names, element types, shapes and bytes, in
/// the order of the names), and of the metadata without "fingerprint" itself.
std::string content_fingerprint(const std::string& tensors, const std::map<std::string, std::string>& metadata);

/// Throws InputError "<path>: ..." that names what differs unless `file` is of the format and of the model, holds the
/// tensors of `extra` and those into which `first` can have grown: the batch is free and the same in all, so is what
/// was empty at first (a cache), float32 may have become bfloat16 (autocast), counters lie from 0 to 2^53 and agree,
/// and the fingerprint is that of the content.
void check_state_file(const SafetensorsFile& file, const ExpectedState& expected);

}  // namespace longspan
