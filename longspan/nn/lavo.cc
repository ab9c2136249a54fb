#include "longspan/nn/lavo.h"

#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>

#include "longspan/nn/cost.h"
#include "longspan/nn/lavo_basis.h"
#include "longspan/nn/packing.h"
#include "longspan/nn/usable_options.h"
#include "longspan/nn/window_state.h"
#include "longspan/ops/local_attention/local_attention.h"
#include "longspan/ops/orthogonal_memory/orthogonal_memory.h"

namespace longspan::nn {
namespace {

using Combine = LavoOptions::Combine;
using Sharing = LavoOptions::Sharing;

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

/// Cross patterns have the global branch alone; `mean` is the struct's default there, "not set".
LavoOptions resolved(Pattern pattern, LavoOptions options) {
  lavo_fields().validate(options);
  if (is_cross(pattern)) {
    LONGSPAN_CHECK(options.combine != Combine::local, "lavo: combine must be global in the pattern ",
                   to_string(pattern), ", got local");
    options.combine = Combine::global;
    options.memory_input = LavoOptions::MemoryInput::raw;
  }
  return options;
}

bool needs_local(const LavoOptions& options) {
  return options.combine != Combine::global || options.memory_input == LavoOptions::MemoryInput::aggregated;
}

}  // namespace

const FieldTable<LavoOptions>& lavo_fields() {
  using O = LavoOptions;
  static const auto table =
      FieldTable<O>("lavo")
          .integer("r", &O::r, {1, 1 << 16}, "memory slots per head, at most the head width")
          .integer("w", &O::w, {1, 1 << 20}, "local window: keys at a distance below w")
          .boolean("epe", &O::epe, "embedded position encoding: a trained score for every offset in the window")
          .choice("epe_sharing", &O::epe_sharing,
                  {{"per_head", Sharing::per_head}, {"shared_heads", Sharing::shared_heads}},
                  "one position table per head, or one for all heads")
          .choice(
              "epe_init", &O::epe_init,
              {{"zero", TableStart::zero}, {"normal", TableStart::normal}, {"slope", TableStart::slope}},
              "start of the position table: 0, normal(0.02), or falling with the distance at slopes 1, 1/2, 1/4, ...")
          .choice("basis_mode", &O::basis_mode,
                  {{"frozen", O::BasisMode::frozen}, {"qr", O::BasisMode::qr}, {"free", O::BasisMode::free}},
                  "frozen: not trained; qr: trained, orthogonal again after every step; free: orthogonal start only")
          .choice("basis_sharing", &O::basis_sharing,
                  {{"per_head", Sharing::per_head}, {"shared_heads", Sharing::shared_heads}},
                  "one basis per head, or one for all heads")
          .real("basis_gain", &O::basis_gain, {1e-6, 1e6}, "norm of the basis rows")
          .choice("score_scale", &O::score_scale,
                  {{"one", O::ScoreScale::one}, {"inv_sqrt_d", O::ScoreScale::inv_sqrt_d}},
                  "factor of the slot scores: 1, or 1 / sqrt(head width)")
          .choice("combine", &O::combine,
                  {{"mean", Combine::mean}, {"local", Combine::local}, {"global", Combine::global}},
                  "output: mean of the local and the global branch, or one of them; cross patterns: global")
          .choice("memory_input", &O::memory_input,
                  {{"aggregated", O::MemoryInput::aggregated}, {"raw", O::MemoryInput::raw}},
                  "what the memory compresses: outputs of the local attention, or the values");
  return table;
}

std::vector<std::string> lavo_unused(Pattern pattern) {
  if (!is_cross(pattern)) return {};
  return {"w", "epe", "epe_sharing", "epe_init", "combine", "memory_input"};
}

LavoAttention::LavoAttention(Pattern pattern, AttentionSizes sizes, LavoOptions options)
    : Attention("lavo", pattern, sizes),
      options_(resolved(pattern, options)),
      project_(*this, sizes, pattern, needs_local(options_)) {
  const int64_t width = sizes.head_width();
  if (has_memory()) {
    LONGSPAN_CHECK(options_.r <= width, "LAVO: r = ", options_.r,
                   " directions cannot be orthogonal in a head of width d = ", width,
                   "; choose r <= d or more width per head");
    const int64_t bases = options_.basis_sharing == Sharing::per_head ? sizes.heads : 1;
    const at::Tensor start = make_basis(bases, options_.r, width, options_.basis_gain);
    basis_ = options_.basis_mode == LavoOptions::BasisMode::frozen ? register_buffer("basis", start)
                                                                   : register_parameter("basis", start);
  }
  if (has_local() && options_.epe) {
    const int64_t tables = options_.epe_sharing == Sharing::per_head ? sizes.heads : 1;
    position_table_ =
        register_parameter("position_table", make_position_table(tables, options_.w - 1, options_.epe_init));
  }
}

FieldValues LavoAttention::options() const {
  return with_nulls(lavo_fields().values(options_), lavo_unused(pattern()));
}

bool LavoAttention::has_local() const { return needs_local(options_); }
bool LavoAttention::has_memory() const { return options_.combine != Combine::local; }

double LavoAttention::scale() const {
  if (ablation_ == Ablation::mean) return 0;  // all scores equal: every slot has weight 1 / R
  return options_.score_scale == LavoOptions::ScoreScale::one
             ? 1.0
             : 1 / std::sqrt(static_cast<double>(sizes().head_width()));
}

std::optional<at::Tensor> LavoAttention::table() const {
  if (position_table_.defined()) return position_table_;
  return std::nullopt;
}

AttentionProperties LavoAttention::properties() const {
  AttentionProperties out;
  out.bitwise = true;
  return out;
}

AttentionCost LavoAttention::cost(int64_t queries, int64_t keys) const {
  const double width = static_cast<double>(sizes().width), slots = static_cast<double>(options_.r);
  const int64_t reach = options_.w - 1;
  AttentionCost out;
  out.bytes = row_bytes(queries, keys, sizes().width, has_local() ? 2 : 1);
  // Project the features (once per key), project the queries, expand (once per query each).
  if (has_memory())
    out.flops += 2 * slots * width * static_cast<double>(causal() ? queries : keys) +
                 4 * slots * width * static_cast<double>(queries);
  if (has_local()) out.flops += 4 * width * band_pairs(queries, keys, reach, causal() ? 0 : reach);
  const double sums = 8 * slots * static_cast<double>(sizes().heads);
  if (is_cross(pattern())) out.state_bytes = sums;
  if (causal()) {
    out.state_bytes = 8;
    if (has_memory()) out.state_bytes += 2 * sums;
    if (has_local()) out.state_bytes += 4 * 2 * static_cast<double>(reach) * width;
  }
  return out;
}

at::Tensor LavoAttention::attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
  LONGSPAN_CHECK(v.size(-1) == q.size(-1), "lavo: the width of v must be the head width of q, ", q.size(-1), ", got ",
                 v.size(-1));
  return attend_packed(q, k, v, {});
}

void LavoAttention::after_step() {
  if (basis_.defined() && options_.basis_mode == LavoOptions::BasisMode::qr) retract_basis(basis_, options_.basis_gain);
}

std::vector<std::string> LavoAttention::ablations() const {
  if (!has_memory()) return {};
  return {"memory=none", "memory=zero", "memory=mean", "memory=swap"};
}

void LavoAttention::ablate(const std::string& part, const std::string& way) {
  const auto known = ablations();
  if (std::find(known.begin(), known.end(), part + "=" + way) == known.end()) Attention::ablate(part, way);
  ablation_ = way == "zero"   ? Ablation::zero
              : way == "mean" ? Ablation::mean
              : way == "swap" ? Ablation::swap
                              : Ablation::none;
}

at::Tensor LavoAttention::memory_features(const at::Tensor& local, const at::Tensor& v, bool packed) const {
  const at::Tensor& features = options_.memory_input == LavoOptions::MemoryInput::raw ? v : local;
  if (ablation_ != Ablation::swap) return features;
  LONGSPAN_CHECK(!packed && features.size(0) >= 2,
                 "lavo: the ablation memory=swap needs a batch of at least 2 without padding, got ",
                 packed ? "a pack" : "a batch of " + std::to_string(features.size(0)));
  return features.roll(1, 0);
}

at::Tensor LavoAttention::ablated(const at::Tensor& global) const {
  return ablation_ == Ablation::zero ? at::zeros_like(global) : global;
}

at::Tensor LavoAttention::combine(const at::Tensor& local, const at::Tensor& global) const {
  return options_.combine == Combine::mean ? Mean::apply(local, ablated(global)) : ablated(global);
}

at::Tensor LavoAttention::attend_packed(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                        const Packed& packed) {
  at::Tensor local;
  if (has_local()) {
    const int64_t reach = options_.w - 1;
    local = ops::local_attention(q, k, v, table(),
                                 {.reach_left = reach, .reach_right = causal() ? 0 : reach, .cu_seqlens = packed.cu});
    if (!has_memory()) return local;
  }
  const at::Tensor features = memory_features(local, v, packed.cu.has_value());
  return combine(local, ops::orthogonal_memory(
                            q, features, basis_, causal() ? "causal" : "full",
                            {.scale = scale(), .cu_seqlens = packed.cu, .cu_seqlens_source = packed.source_cu}));
}

at::Tensor LavoAttention::forward_packed(const at::Tensor& x, const Packed& packed) {
  const at::Tensor& source = packed.source ? *packed.source : x;
  const at::Tensor k = has_local() ? project_.keys(x) : at::Tensor();
  return project_.merge(attend_packed(project_.queries(x), k, project_.values(source), packed));
}

StateLayout LavoAttention::state_layout() const {
  const StateEntry sums = {.sizes = {sizes().heads, options_.r}, .dtype = at::kDouble};
  if (is_cross(pattern())) return {{"features", sums}};
  StateLayout layout;
  if (has_local())
    describe_window(layout, sizes().heads, options_.w - 1, sizes().head_width());
  else
    layout["count"] = {.dtype = at::kLong};
  if (has_memory()) layout["closed"] = layout["open"] = sums;
  return layout;
}

State LavoAttention::begin_self(int64_t batch) {
  State state;
  if (has_local())
    begin_window(state, batch, sizes().heads, options_.w - 1, sizes().head_width(), project_.options());
  else
    state.set("count", at::zeros({batch}, at::kLong));
  if (has_memory()) {
    const auto sums = project_.options().dtype(at::kDouble);
    state.set("closed", at::zeros({batch, sizes().heads, options_.r}, sums));
    state.set("open", at::zeros({batch, sizes().heads, options_.r}, sums));
  }
  return state;
}

State LavoAttention::begin_cross(const at::Tensor& source, const std::optional<at::Tensor>& source_cu, int64_t batch) {
  const at::Tensor features = memory_features({}, project_.values(source), source_cu.has_value());
  const at::Tensor none = at::zeros({batch, sizes().heads, options_.r}, project_.options().dtype(at::kDouble));
  // The causal operator's sums are those of the fused forward; what it reads on the way is not used.
  const auto [out, sums] = ops::orthogonal_memory_extend(
      features, features, basis_, {none, none, at::zeros({batch}, none.options().dtype(at::kLong))},
      {.cu_seqlens = source_cu});
  const at::Tensor divisor = sums.count.clamp_min(1).to(none.options()).view({batch, 1, 1});
  return State({{"features", (sums.closed + sums.open) / divisor}});
}

at::Tensor LavoAttention::read_features(const State& state, const at::Tensor& q,
                                        const std::optional<at::Tensor>& cu) const {
  // The features stay float32 (float64) also under autocast.
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  const auto dtype = at::promote_types(q.scalar_type(), basis_.scalar_type());
  at::Tensor features = state.at("features").to(dtype);
  if (cu) {
    const at::Tensor rows = sequence_of_row(*cu).to(features.device());
    features = features.index_select(0, rows).transpose(0, 1).unsqueeze(0);  // [1, H, T, R]
  } else {
    features = features.unsqueeze(2);  // [B, H, 1, R]
  }
  const at::Tensor basis = basis_.to(dtype);
  const at::Tensor scores = at::matmul(q.to(dtype), basis.transpose(-1, -2)) * features * scale();
  return at::matmul(at::softmax(scores, -1) * features, basis);
}

at::Tensor LavoAttention::extend_packed(State& state, const at::Tensor& x, const std::optional<at::Tensor>& cu) {
  if (is_cross(pattern())) return project_.merge(ablated(read_features(state, project_.queries(x), cu)));
  if (has_local() && !cu && !is_even(state)) {
    LONGSPAN_CHECK(ablation_ != Ablation::swap,
                   "lavo: the ablation memory=swap needs streams of one length, got streams of different lengths");
    return extend_packed(state, flatten_batch(x), uniform_cu(x.size(0), x.size(1))).view(x.sizes());
  }
  State next = state;
  const at::Tensor q = project_.queries(x), v = project_.values(x);
  at::Tensor local;
  if (has_local()) {
    const WindowKeys window = join_window(next, project_.keys(x), v, cu);
    local = ops::local_attention(q, window.keys, window.values, table(),
                                 {.reach_left = options_.w - 1, .cu_seqlens = cu, .cu_seqlens_k = window.cu});
  }
  at::Tensor out = local;
  if (has_memory()) {
    const auto [global, sums] = ops::orthogonal_memory_extend(
        q, memory_features(local, v, cu.has_value()), basis_,
        {state.at("closed"), state.at("open"), state.at("count").to(q.device())}, {.scale = scale(), .cu_seqlens = cu});
    next.set("closed", sums.closed);
    next.set("open", sums.open);
    out = combine(local, global);
  }
  advance_count(next, x.size(1), cu);
  state = std::move(next);
  return project_.merge(out);
}

}  // namespace longspan::nn
