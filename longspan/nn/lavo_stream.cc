// LAVO on streams (specification A.12).
#include <limits>

#include "longspan/nn/lavo.h"
#include "longspan/nn/lavo_windows.h"
#include "longspan/nn/packing.h"

namespace longspan::nn {
namespace {

/// The memory's part of a state.
ops::OrthogonalMemoryState sums_of(const State& state, const at::Tensor& count) {
  ops::OrthogonalMemoryState out{state.at("closed"), state.at("open"), count.to(state.at("closed").device())};
  if (state.contains("visible")) out.visible = state.at("visible");
  return out;
}

void set_sums(State& state, const ops::OrthogonalMemoryState& sums) {
  state.set("closed", sums.closed);
  state.set("open", sums.open);
  if (sums.visible) state.set("visible", *sums.visible);
}

/// Mean of every stream's rows, [B, H, M, D] or a pack [1, H, T, D] -> [B, H, D] in `dtype`; 0 for no rows.
at::Tensor means(const at::Tensor& rows, const std::optional<at::Tensor>& cu, at::ScalarType dtype) {
  if (!cu) return rows.sum(2, false, dtype) / static_cast<double>(std::max<int64_t>(rows.size(2), 1));
  const std::vector<int64_t> starts = borders(*cu);
  std::vector<at::Tensor> out;
  for (std::size_t b = 0; b + 1 < starts.size(); ++b) {
    const int64_t length = starts[b + 1] - starts[b];
    out.push_back(rows.narrow(2, starts[b], length).sum(2, false, dtype) /
                  static_cast<double>(std::max<int64_t>(length, 1)));
  }
  return out.empty() ? at::zeros({0, rows.size(1), rows.size(3)}, rows.options().dtype(dtype)) : at::cat(out, 0);
}

}  // namespace

StateLayout LavoAttention::state_layout() const {
  const int64_t heads = sizes().heads, width = sizes().head_width(), reach = options_.w - 1;
  const StateEntry slots = {.sizes = {heads, options_.r}, .dtype = at::kDouble};
  if (is_cross(pattern())) return {{"features", slots}, {"count", {.dtype = at::kLong}}};
  StateLayout layout;
  if (parts_.local)
    describe_window(layout, ring_heads(), reach, width, ring_columns() * width);
  else
    layout["count"] = {.dtype = at::kLong};
  if (bidirectional()) layout["queries"] = {.sizes = {heads, reach, width}};
  if (parts_.memory) {
    StateEntry sums = slots;
    if (options_.accumulator != LavoOptions::Accumulator::float64) sums.dtype = at::kFloat;
    if (options_.accumulator == LavoOptions::Accumulator::float32_compensated) sums.sizes = {heads, 2 * options_.r};
    layout["closed"] = layout["open"] = sums;
    if (by_window()) layout["visible"] = slots;
  }
  return layout;
}

State LavoAttention::begin_self(int64_t batch) {
  State state;
  for (const auto& [name, entry] : state_layout()) {
    std::vector<int64_t> sizes = entry.sizes;
    sizes.insert(sizes.begin(), batch);
    auto options = project_.options();
    if (entry.dtype) options = options.dtype(*entry.dtype);
    if (name == "count") options = options.device(at::kCPU);
    state.set(name, at::zeros(sizes, options));
  }
  return state;
}

State LavoAttention::begin_cross(const at::Tensor& source, const std::optional<at::Tensor>& source_cu, int64_t batch) {
  const at::Tensor k = parts_.keys ? project_.keys(source) : at::Tensor();
  const at::Tensor v = parts_.values ? project_.values(source) : at::Tensor();
  const at::Tensor features = memory_features(project_features(source, k, v), source_cu);
  // The mean of the projected rows is the projected mean.
  const auto dtype = options_.accumulator == LavoOptions::Accumulator::float32 ? at::kFloat : at::kDouble;
  const at::Tensor mean = spread_heads(means(features, source_cu, dtype).to(at::kDouble), sizes().heads);
  return State({{"features", at::matmul(basis_.rows().to(at::kDouble), mean.unsqueeze(-1)).squeeze(-1)},
                {"count", at::zeros({batch}, at::kLong)}});
}

at::Tensor LavoAttention::read_source(const State& state, const at::Tensor& q,
                                      const std::optional<at::Tensor>& cu) const {
  // A window that never ends: every row reads what is visible at its beginning, and of features of its own nothing.
  ops::OrthogonalMemoryOptions options = memory_options(cu);
  options.window = std::numeric_limits<int64_t>::max();
  options.accumulator = "float64";
  const at::Tensor& features = state.at("features");
  const at::Tensor none = at::zeros_like(features);
  const at::Tensor no_rows = at::zeros({q.size(3)}, q.options()).expand({q.size(0), 1, q.size(2), q.size(3)});
  return std::get<0>(ops::orthogonal_memory_extend(memory_queries(q), no_rows, basis_.rows(),
                                                   {none, none, state.at("count").to(q.device()), features}, options));
}

at::Tensor LavoAttention::read_late(State& next, const Operands& in, const at::Tensor& features, const State& state,
                                    const at::Tensor& cu) const {
  const WindowSteps steps = window_steps(stream_rows(state, cu), options_.w);
  const auto device = in.q.device();
  const auto pick = [&](const at::Tensor& rows, const at::Tensor& index) {
    return rows.index_select(2, index.to(device));
  };
  const at::Tensor q = memory_queries(in.q), basis = basis_.rows();
  ops::OrthogonalMemoryOptions options = memory_options(steps.complete_cu);  // one seed of dropout for both parts
  // Held rows of a window that is complete now were answered before: their queries are zeros, their outputs dropped.
  const at::Tensor with_zeros = at::constant_pad_nd(q, {0, 0, 1, 0});
  const auto [done, sums] =
      ops::orthogonal_memory_extend(pick(with_zeros, steps.complete_queries), pick(features, steps.complete), basis,
                                    sums_of(state, steps.complete_start), options);
  set_sums(next, sums);
  // The rest stands in a window under way and reads complete ones alone: its own features may be anything.
  const at::Tensor rest = pick(q, steps.rest);
  ops::OrthogonalMemoryState before = sums;
  before.count = steps.rest_start.to(device);
  options.cu_seqlens = steps.rest_cu;
  const at::Tensor open =
      std::get<0>(ops::orthogonal_memory_extend(rest, at::zeros_like(rest), basis, before, options));
  return pick(at::cat({done, open}, 2), steps.order);
}

at::Tensor LavoAttention::read_stream(State& next, const Operands& in, const Mixed& mixed, const State& state,
                                      const std::optional<at::Tensor>& cu) const {
  const at::Tensor features = memory_features(mixed.features, cu);
  if (bidirectional()) return read_late(next, in, features, state, *cu);
  const auto [out, sums] = ops::orthogonal_memory_extend(memory_queries(in.q), features, basis_.rows(),
                                                         sums_of(state, state.at("count")), memory_options(cu));
  set_sums(next, sums);
  return out;
}

at::Tensor LavoAttention::extend_packed(State& state, const at::Tensor& x, const std::optional<at::Tensor>& cu) {
  if (is_cross(pattern())) {
    const at::Tensor q = project_.queries(x);
    const at::Tensor out = combine({}, read_source(state, q, cu), {x.size(1), cu}, q.scalar_type());
    advance_count(state, x.size(1), cu);
    return project_.merge(out);
  }
  if (parts_.local) {
    const bool even = is_even(state);
    if (memory_ablation_ == Ablation::swap) check_swapped_state(method(), even);
    if (!cu && (blockwise() || !even))
      return extend_packed(state, flatten_batch(x), uniform_cu(x.size(0), x.size(1))).view(x.sizes());
  }
  State next = state;
  const at::Tensor count = state.at("count");
  const Operands in = project(x, x, RotaryPositions(sizes(), x, cu, count));
  const Mixed mixed = mix_stream(next, in, state, cu);
  const at::Tensor global = parts_.memory ? read_stream(next, in, mixed, state, cu) : at::Tensor();
  const at::Tensor out = combine(mixed.output, global, {x.size(1), cu, count}, in.q.scalar_type());
  advance_count(next, x.size(1), cu);
  state = std::move(next);
  return project_.merge(out);
}

}  // namespace longspan::nn
