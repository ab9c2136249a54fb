// Looking at a stream while it is read.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>

namespace longspan::nn {

/// What a causal method does with a stream, piece by piece, as Attention::inspect() tells it of a whole one: the same
/// tensors, those of four dimensions [B, H, N, ...] for the rows of the piece. Keeps of the past what the method needs
/// and no more, so memory does not grow with the stream.
class Inspection {
 public:
  virtual ~Inspection() = default;
  /// Every piece but the last has a multiple of this many rows.
  virtual int64_t step() const { return 1; }
  /// The next rows x [B, N, E]; B is the same in every call.
  virtual std::map<std::string, at::Tensor> look(const at::Tensor& x) = 0;
};

}  // namespace longspan::nn
