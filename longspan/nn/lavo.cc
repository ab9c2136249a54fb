#include "longspan/nn/lavo.h"

#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>

#include "longspan/nn/cost.h"
#include "longspan/nn/dropout_seed.h"
#include "longspan/nn/lavo_windows.h"
#include "longspan/nn/packing.h"
#include "longspan/nn/usable_options.h"

namespace longspan::nn {
namespace {

/// (a + b) / 2 with one gradient tensor for both, where composed operators would make three.
class Mean : public torch::autograd::Function<Mean> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext*, const at::Tensor& a, const at::Tensor& b) {
    return at::add(a, b).mul_(0.5);
  }
  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext*, torch::autograd::tensor_list grads) {
    if (!grads[0].defined()) return {at::Tensor(), at::Tensor()};
    const at::Tensor half = grads[0] * 0.5;
    return {half, half};
  }
};

}  // namespace

LavoAttention::LavoAttention(Pattern pattern, AttentionSizes sizes, LavoOptions options)
    : Attention("lavo", pattern, sizes),
      options_(resolved_lavo(pattern, sizes, options)),
      parts_(pattern, options_),
      project_(*this, sizes, pattern, {.keys = parts_.keys, .values = parts_.values, .memory = parts_.own}) {
  if (parts_.memory) {
    BasisOptions basis;
    basis.mode = options_.basis_mode;
    basis.sharing = options_.basis_sharing;
    basis.heads = sizes.heads;
    basis.slots = options_.r;
    basis.width = sizes.head_width();
    basis.gain = options_.basis_gain;
    basis.penalty = options_.basis_penalty;
    basis_ = Basis(*this, basis);
    if (options_.score_scale == LavoOptions::ScoreScale::learned)
      log_scale_ = register_parameter("log_scale", torch::zeros({sizes.heads}));
  }
  if (parts_.local && options_.epe) {
    const int64_t tables = options_.epe_sharing == LavoOptions::TableSharing::per_head ? sizes.heads : 1;
    position_table_ =
        register_parameter("position_table", make_position_table(tables, options_.w - 1, options_.epe_init));
  }
}

FieldValues LavoAttention::options() const {
  return with_nulls(lavo_fields().values(options_), lavo_unused(pattern()));
}

std::optional<at::Tensor> LavoAttention::table() const {
  if (position_table_.defined()) return position_table_;
  return std::nullopt;
}

double LavoAttention::fixed_scale() const {
  if (options_.score_scale == LavoOptions::ScoreScale::inv_sqrt_d)
    return 1 / std::sqrt(static_cast<double>(sizes().head_width()));
  return options_.score_scale == LavoOptions::ScoreScale::constant ? options_.score_constant : 1;
}

AttentionProperties LavoAttention::properties() const {
  AttentionProperties out;
  out.bitwise = true;
  out.float32_sums = parts_.memory && options_.accumulator != LavoOptions::Accumulator::float64;
  return out;
}

AttentionCost LavoAttention::cost(int64_t queries, int64_t keys) const {
  const double width = static_cast<double>(sizes().width), slots = static_cast<double>(options_.r);
  const int64_t key_width = sizes().key_heads() * sizes().head_width(), reach = options_.w - 1;
  AttentionCost out;
  out.bytes =
      row_bytes(queries, keys, sizes().width, key_width, int{parts_.keys} + int{parts_.values} + int{parts_.own});
  if (parts_.memory && options_.memory_proj == LavoOptions::MemoryProjection::input_slice)
    out.bytes += 4 * width * static_cast<double>(keys);  // the layer's input, a slice for every query head
  // Project the features (once per key), project the queries, expand (once per query each).
  if (parts_.memory)
    out.flops += 2 * slots * width * static_cast<double>(causal() ? queries : keys) +
                 4 * slots * width * static_cast<double>(queries);
  if (parts_.output || (parts_.local && !blockwise())) {
    const double columns = blockwise() ? 1 : static_cast<double>(ring_columns());
    out.flops += 2 * (1 + columns) * width * band_pairs(queries, keys, reach, causal() ? 0 : reach);
  }
  if (blockwise()) out.flops += 4 * width * block_pairs(queries, keys, options_.w, !bidirectional());
  const double slot_count = slots * static_cast<double>(sizes().heads);
  if (is_cross(pattern())) out.state_bytes = 8 * slot_count + 8;
  if (causal()) {
    out.state_bytes = 8;
    if (parts_.memory)
      out.state_bytes += (options_.accumulator == LavoOptions::Accumulator::float32 ? 8 : 16) * slot_count;
    if (parts_.memory && by_window()) out.state_bytes += 8 * slot_count;
    const int64_t ring_width = ring_heads() * sizes().head_width();
    if (parts_.local) out.state_bytes += 4 * static_cast<double>(reach * (1 + ring_columns()) * ring_width);
    if (bidirectional()) out.state_bytes += 4 * static_cast<double>(reach) * width;
  }
  return out;
}

at::Tensor LavoAttention::attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
  LONGSPAN_CHECK(v.size(-1) == q.size(-1), "lavo: the width of v must be the head width of q, ", q.size(-1), ", got ",
                 v.size(-1));
  const bool key = options_.memory_proj == LavoOptions::MemoryProjection::key;
  return attend_packed(arrange(q, k, v, key ? k : v, nullptr), {});
}

std::vector<std::string> LavoAttention::ablations() const {
  std::vector<std::string> out;
  if (parts_.memory) out = {"memory=none", "memory=zero", "memory=mean", "memory=swap"};
  if (parts_.output) out.insert(out.end(), {"local=none", "local=zero"});
  HeadAblation::offer(out, sizes().heads);
  return out;
}

void LavoAttention::set_ablation(const std::string& part, const std::string& way) {
  if (part == "memory")
    memory_ablation_ = way == "zero"   ? Ablation::zero
                       : way == "mean" ? Ablation::mean
                       : way == "swap" ? Ablation::swap
                                       : Ablation::none;
  if (part == "local") local_off_ = way == "zero";
  if (part == "head") head_ablation_.set(way);
}

at::Tensor LavoAttention::project_features(const at::Tensor& source, const at::Tensor& k, const at::Tensor& v) {
  if (options_.memory_proj == LavoOptions::MemoryProjection::value) return v;
  if (options_.memory_proj == LavoOptions::MemoryProjection::key) return k;
  return options_.memory_proj == LavoOptions::MemoryProjection::own ? project_.memory(source) : project_.slices(source);
}

LavoAttention::Operands LavoAttention::project(const at::Tensor& x, const at::Tensor& source,
                                               const RotaryPositions& rotary) {
  const at::Tensor k = parts_.keys ? project_.keys(source) : at::Tensor();
  const at::Tensor v = parts_.values ? project_.values(source) : at::Tensor();
  return arrange(project_.queries(x), k, v, parts_.memory ? project_features(source, k, v) : at::Tensor(), &rotary);
}

LavoAttention::Operands LavoAttention::arrange(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                               const at::Tensor& features, const RotaryPositions* rotary) const {
  Operands out;
  out.q = q;
  if (parts_.memory) out.features = features.to(q.scalar_type());  // under autocast the layer's input may be wider
  if (!parts_.local) return out;
  out.local_q = rotary ? rotary->turn(q) : q;
  out.keys = rotary ? rotary->turn(k) : k;
  out.values = parts_.values ? v : out.features;
  if (ring_columns() == 2) out.values = at::cat({spread_heads(v, out.features.size(1)), out.features}, -1);
  out.keys = spread_heads(out.keys, out.values.size(1));
  return out;
}

at::Tensor LavoAttention::memory_queries(const at::Tensor& q) const {
  if (!log_scale_.defined()) return q;
  return (q * log_scale_.exp().view({-1, 1, 1})).to(q.scalar_type());  // the scores are linear in q
}

at::Tensor LavoAttention::memory_features(const at::Tensor& features, const std::optional<at::Tensor>& cu) const {
  return memory_ablation_ == Ablation::swap ? swapped_streams(method(), features, cu) : features;
}

ops::OrthogonalMemoryOptions LavoAttention::memory_options(const std::optional<at::Tensor>& cu) const {
  ops::OrthogonalMemoryOptions out;
  out.scale = scale();
  out.cu_seqlens = cu;
  out.window = by_window() ? options_.w : 0;
  out.accumulator = options_.accumulator == LavoOptions::Accumulator::float64   ? "float64"
                    : options_.accumulator == LavoOptions::Accumulator::float32 ? "float32"
                                                                                : "float32_compensated";
  if (is_training() && options_.slot_dropout > 0) {
    out.dropout = options_.slot_dropout;
    out.dropout_seed = dropout_seed();
  }
  return out;
}

at::Tensor LavoAttention::combine(const at::Tensor& local, const at::Tensor& global, const Place& place,
                                  at::ScalarType dtype) const {
  const at::Tensor near = local.defined() && local_off_ ? at::zeros_like(local) : local;
  const at::Tensor far = global.defined() && memory_ablation_ == Ablation::zero ? at::zeros_like(global) : global;
  at::Tensor out = options_.combine == LavoOptions::Combine::mean    ? Mean::apply(near, far)
                   : options_.combine == LavoOptions::Combine::local ? near
                                                                     : far;
  if (by_window() && parts_.memory && options_.empty_memory == LavoOptions::EmptyMemory::local_only) {
    const at::Tensor empty = positions_of_rows(place.length, place.cu, place.start) < options_.w;
    out = at::where(empty.unsqueeze(-1).to(out.device()), near, out);
  }
  return head_ablation_.apply(out).to(dtype);
}

at::Tensor LavoAttention::attend_packed(const Operands& in, const Packed& packed) {
  const Mixed mixed = mix(in, packed.cu);
  at::Tensor global;
  if (parts_.memory) {
    ops::OrthogonalMemoryOptions options = memory_options(packed.cu);
    options.cu_seqlens_source = packed.source_cu;
    global = ops::orthogonal_memory(memory_queries(in.q),
                                    memory_features(mixed.features, packed.source_cu ? packed.source_cu : packed.cu),
                                    basis_.rows(), causal() ? "causal" : "full", options);
  }
  return combine(mixed.output, global, {in.q.size(2), packed.cu}, in.q.scalar_type());
}

at::Tensor LavoAttention::forward_packed(const at::Tensor& x, const Packed& packed) {
  const RotaryPositions rotary(sizes(), x, packed.cu);
  return project_.merge(attend_packed(project(x, packed.source ? *packed.source : x, rotary), packed));
}

}  // namespace longspan::nn
