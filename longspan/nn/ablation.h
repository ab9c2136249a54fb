// Ablations that attentions have in common: one head left out, the memories of streams swapped.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "longspan/nn/pch.h"

namespace longspan::nn {

/// The part "head" of Attention::ablations(): the number of one head whose output is 0, or none.
class HeadAblation {
 public:
  /// Adds its ways.
  static void offer(std::vector<std::string>& ablations, int64_t heads);
  void set(const std::string& way);
  /// Outputs [B, H, N, D] of all heads.
  at::Tensor apply(const at::Tensor& heads) const;

 private:
  std::optional<int64_t> off_;
};

/// rows [B, H, N, ...], with `cu` a pack: to each stream those of the one before it, to the first those of the last.
/// InputError of `method`'s ablation memory=swap unless there are at least 2 streams, all of one length.
at::Tensor swapped_streams(const std::string& method, const at::Tensor& rows, const std::optional<at::Tensor>& cu);

/// InputError of `method`'s ablation memory=swap for a state whose streams are not of one length.
void check_swapped_state(const std::string& method, bool even);

}  // namespace longspan::nn
