// lavo_selective looked at from inside.
#include <utility>

#include "longspan/nn/dense_weights.h"
#include "longspan/nn/lavo_selective.h"
#include "longspan/nn/packing.h"

namespace longspan::nn {

std::map<std::string, at::Tensor> LavoSelectiveAttention::inspect_dense(const at::Tensor& x,
                                                                        const std::optional<at::Tensor>& source) {
  const at::Tensor& from = source ? *source : x;
  const Ablation ablation = std::exchange(memory_ablation_, Ablation::none);
  const at::Tensor q = project_.queries(x), k = project_.keys(from), v = project_.values(from);
  const MemoryWrites in = project_writes(from, k, v, std::nullopt, nullptr);
  memory_ablation_ = ablation;
  auto out = watch_memory(address(own_addresses() ? project_.memory_queries(x) : q), in, options_.delta);
  out["basis"] = basis_.rows().to(at::kDouble).expand({sizes().heads, -1, -1});
  if (!causal()) return out;
  const RotaryPositions rotary(sizes(), x, std::nullopt);
  out["local_weights"] = window_weights(rotary.turn(q), rotary.turn(k), position_table_, options_.w - 1, 0);
  return out;
}

}  // namespace longspan::nn
