// lavo_selective on streams.
#include "longspan/nn/lavo_selective.h"
#include "longspan/nn/packing.h"
#include "longspan/nn/window_state.h"

namespace longspan::nn {

StateLayout LavoSelectiveAttention::state_layout() const {
  const int64_t width = sizes().head_width();
  if (!causal()) return {{"memory", {.sizes = {sizes().heads, options_.r, width}}}, {"count", {.dtype = at::kLong}}};
  StateLayout layout;
  describe_window(layout, sizes().key_heads(), options_.w - 1, width, width);
  if (conv_.defined()) conv_.describe(layout);
  describe_delta(layout, shape());
  return layout;
}

State LavoSelectiveAttention::begin_self(int64_t batch) {
  return zero_state(state_layout(), batch, project_.options());
}

State LavoSelectiveAttention::begin_cross(const at::Tensor& source, const std::optional<at::Tensor>& source_cu,
                                          int64_t batch) {
  const MemoryWrites in = project_writes(source, project_.keys(source), project_.values(source), source_cu, nullptr);
  return State({{"memory", written(in, source_cu)}, {"count", at::zeros({batch}, at::kLong)}});
}

at::Tensor LavoSelectiveAttention::extend_packed(State& state, const at::Tensor& x,
                                                 const std::optional<at::Tensor>& cu) {
  const at::Tensor q = project_.queries(x);
  if (!causal()) {
    const at::Tensor out = combine({}, read(state.at("memory"), address(q), cu), q.scalar_type());
    advance_count(state, x.size(1), cu);
    return project_.merge(out);
  }
  const bool even = is_even(state);
  if (memory_ablation_ == Ablation::swap) check_swapped_state(method(), even);
  if (!cu && !even) return extend_packed(state, flatten_batch(x), uniform_cu(x.size(0), x.size(1))).view(x.sizes());
  const at::Tensor k = project_.keys(x), v = project_.values(x);
  State next = state;
  const MemoryWrites in = project_writes(x, k, v, cu, &next);
  const auto [memory, after] =
      ops::delta_memory_extend(address(own_addresses() ? project_.memory_queries(x) : q), in.keys, in.values, in.beta,
                               in.log_alpha, delta_of(state), memory_options(cu));
  set_delta(next, after);
  const RotaryPositions rotary(sizes(), x, cu, state.at("count"));
  const WindowRows rows = join_window(next, {{"keys", rotary.turn(k)}, {"values", v}}, cu);
  std::optional<at::Tensor> origin;
  if (drops_local()) origin = dropout_origin(state);
  const at::Tensor near = local({rotary.turn(q), rows.at("keys"), rows.at("values")}, cu, rows.cu, origin);
  advance_count(next, x.size(1), cu);
  const at::Tensor y = project_.merge(combine(near, memory, q.scalar_type()));
  state = std::move(next);
  return y;
}

}  // namespace longspan::nn
