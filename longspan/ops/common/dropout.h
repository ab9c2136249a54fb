// Dropout of the composed forms: the decisions of base/dropout.h in ATen's integer operators, bit for bit, on any
// device.
#pragma once

#include <ATen/core/Tensor.h>

#include <utility>

#include "longspan/ops/common/optional.h"

namespace longspan::ops {

/// Dropout of an operator's arguments as it stands in them: the seed's value is not read on the host.
class DropoutMask {
 public:
  /// `seed`: int64, no dimensions, on the CPU or the device of `like`; needed where probability > 0.
  DropoutMask(double probability, const OptionalTensor& seed, const at::Tensor& like);

  bool active() const { return probability_ > 0; }
  /// `p` with the elements that are not kept set to zero and the others scaled. row, head, i and group: int64 tensors
  /// that broadcast to the shape of p, where group and the last dimension of p count fours of positions j: element
  /// 4 g + j of p stands at position 4 group[g] + j. With `shift`, which broadcasts likewise, elements from 0 to 3, the
  /// first element of p stands at position 4 group[0] + shift, and group has one four more.
  at::Tensor apply(const at::Tensor& p, const at::Tensor& row, const at::Tensor& head, const at::Tensor& i,
                   const at::Tensor& group, const at::Tensor& shift = {}) const;
  /// The same for elements in any order: row, head, i and j, which broadcast to the shape of p, are those of each. Four
  /// times the work.
  at::Tensor apply_at(const at::Tensor& p, const at::Tensor& row, const at::Tensor& head, const at::Tensor& i,
                      const at::Tensor& j) const;

 private:
  double probability_;
  at::Tensor key_[2];  // the words of the seed
};

}  // namespace longspan::ops
