#include "longspan/nn/delta_state.h"

#include "longspan/kernels/delta/delta_memory.h"

namespace longspan::nn {

static_assert(kDeltaRows == kernels::kDeltaChunk);

void describe_delta(StateLayout& layout, const DeltaShape& shape) {
  layout["memory"] = {.sizes = {shape.heads, shape.slots, shape.width}};
  layout["memory_keys"] = {.sizes = {shape.heads, kDeltaRows, shape.slots}};
  layout["memory_writes"] = {.sizes = {shape.heads, kDeltaRows, shape.width}};
  if (shape.decay == MemoryDecay::scalar) layout["memory_log_alpha"] = {.sizes = {shape.heads, kDeltaRows}};
  if (shape.decay == MemoryDecay::per_slot)
    layout["memory_log_alpha"] = {.sizes = {shape.heads, kDeltaRows, shape.slots}};
}

double delta_bytes(const DeltaShape& shape) {
  const int64_t decays = shape.decay == MemoryDecay::none ? 0 : shape.decay == MemoryDecay::scalar ? 1 : shape.slots;
  return 4 * static_cast<double>(shape.heads *
                                 (shape.slots * shape.width + kDeltaRows * (shape.slots + shape.width + decays)));
}

ops::DeltaMemoryState delta_of(const State& state) {
  ops::DeltaMemoryState out;
  out.memory = state.at("memory");
  out.keys = state.at("memory_keys");
  out.writes = state.at("memory_writes");
  if (state.contains("memory_log_alpha")) out.log_alpha = state.at("memory_log_alpha");
  out.position = state.at("count").to(out.memory.device());
  return out;
}

void set_delta(State& state, const ops::DeltaMemoryState& memory) {
  state.set("memory", memory.memory);
  state.set("memory_keys", memory.keys);
  state.set("memory_writes", memory.writes);
  if (memory.log_alpha) state.set("memory_log_alpha", *memory.log_alpha);
}

std::map<std::string, at::Tensor> watch_memory(const at::Tensor& queries, const MemoryWrites& writes, bool delta) {
  const at::Tensor keys = writes.keys.to(at::kDouble), values = writes.values.to(at::kDouble);
  const at::Tensor beta = writes.beta.to(at::kDouble);
  at::Tensor alpha;
  if (writes.log_alpha) alpha = writes.log_alpha->to(at::kDouble).exp();
  at::Tensor memory = at::zeros({values.size(0), values.size(1), keys.size(3), values.size(3)}, values.options());
  at::Tensor occupancy = at::zeros(keys.sizes(), keys.options()), novelty = at::ones(beta.sizes(), beta.options());
  for (int64_t t = 0; t < values.size(2); ++t) {
    if (alpha.defined()) {
      const at::Tensor kept = alpha.select(2, t).unsqueeze(-1);  // [B, H, 1], or [B, H, R, 1]
      memory = memory * (kept.dim() == 4 ? kept : kept.unsqueeze(-1));
    }
    const at::Tensor key = keys.select(2, t).unsqueeze(-1), value = values.select(2, t).unsqueeze(-2);
    const at::Tensor change = delta ? value - at::matmul(key.transpose(-1, -2), memory) : value;
    memory = memory + at::matmul(key, change) * beta.select(2, t).unsqueeze(-1).unsqueeze(-1);
    occupancy.select(2, t).copy_(memory.square().sum(-1).sqrt());
    if (!delta) continue;
    const at::Tensor size = value.square().sum(-1).sqrt(), left = change.square().sum(-1).sqrt();
    novelty.select(2, t).copy_(at::where(size > 0, left / size, at::zeros_like(size)).squeeze(-1));
  }
  std::map<std::string, at::Tensor> out = {{"beta", beta},
                                           {"writing", keys},
                                           {"reading", queries.to(at::kDouble)},
                                           {"occupancy", occupancy},
                                           {"novelty", novelty}};
  if (alpha.defined()) out["alpha"] = alpha;
  return out;
}

State zero_state(const StateLayout& layout, int64_t batch, const at::TensorOptions& options) {
  State state;
  for (const auto& [name, entry] : layout) {
    std::vector<int64_t> sizes = entry.sizes;
    sizes.insert(sizes.begin(), batch);
    auto given = options;
    if (name.starts_with("memory")) given = given.dtype(delta_dtype(c10::typeMetaToScalarType(options.dtype())));
    if (entry.dtype) given = given.dtype(*entry.dtype).device(at::kCPU);
    state.set(name, at::zeros(sizes, given));
  }
  return state;
}

}  // namespace longspan::nn
