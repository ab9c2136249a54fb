// bfloat16 matrix products where the processor has them.
#pragma once

#include <ATen/core/Tensor.h>

namespace longspan::train {

/// True when the processor multiplies bfloat16 in hardware (AVX-512 BF16 or AMX), so that autocast is worth its casts.
bool fast_bfloat16();

/// While it lives, matrix products on the CPU run in bfloat16 (torch's autocast); parameters, residual stream, norms,
/// losses and optimizer stay float32. Does nothing when built with `on` = false.
class AutocastGuard {
 public:
  explicit AutocastGuard(bool on);
  ~AutocastGuard();
  AutocastGuard(const AutocastGuard&) = delete;
  AutocastGuard& operator=(const AutocastGuard&) = delete;

 private:
  bool on_;
  bool before_enabled_ = false;
  at::ScalarType before_dtype_ = at::kFloat;
};

}  // namespace longspan::train
