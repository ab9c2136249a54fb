#include "longspan/train/autocast.h"

#include <ATen/autocast_mode.h>

namespace longspan::train {

bool fast_bfloat16() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512bf16");  // every processor with AMX has it too
#else
  return false;
#endif
}

AutocastGuard::AutocastGuard(bool on) : on_(on) {
  if (!on_) return;
  before_enabled_ = at::autocast::is_autocast_enabled(at::kCPU);
  before_dtype_ = at::autocast::get_autocast_dtype(at::kCPU);
  at::autocast::set_autocast_enabled(at::kCPU, true);
  at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
  at::autocast::increment_nesting();
}

AutocastGuard::~AutocastGuard() {
  if (!on_) return;
  // The cache holds bfloat16 copies of the weights, which the next optimizer step makes stale.
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(at::kCPU, before_enabled_);
  at::autocast::set_autocast_dtype(at::kCPU, before_dtype_);
}

}  // namespace longspan::train
