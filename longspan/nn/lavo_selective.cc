#include "longspan/nn/lavo_selective.h"

#include <algorithm>
#include <cmath>

#include "longspan/nn/cost.h"
#include "longspan/nn/dropout_seed.h"
#include "longspan/nn/packing.h"
#include "longspan/nn/usable_options.h"
#include "longspan/ops/local_attention/local_attention.h"

namespace longspan::nn {
namespace {

constexpr double kShortest = 64, kLongest = 4096;  // tokens that memories last for at the start

/// b_f of every head: sigmoid(b_f) = 1 - alpha = 1 / tokens.
at::Tensor forget_bias(int64_t heads, int64_t each) {
  const at::Tensor place =
      heads > 1 ? at::arange(heads, at::kDouble) / static_cast<double>(heads - 1) : at::full({1}, 0.5, at::kDouble);
  const at::Tensor tokens = (place * std::log(kLongest / kShortest)).exp() * kShortest;
  return -(tokens - 1).log().repeat_interleave(each);
}

}  // namespace

LavoSelectiveAttention::LavoSelectiveAttention(Pattern pattern, AttentionSizes sizes, LavoSelectiveOptions options)
    : Attention("lavo_selective", pattern, sizes),
      options_(resolved_lavo_selective(sizes, options)),
      project_(*this, sizes, pattern, {.addresses = own_addresses()}) {
  if (own_addresses() && options_.tied_init) project_.tie_addresses();
  BasisOptions basis;
  basis.mode =
      options_.addresses == LavoSelectiveOptions::Addresses::orthonormal ? options_.basis_mode : BasisMode::free;
  basis.sharing = options_.basis_sharing;
  basis.heads = sizes.heads;
  basis.slots = options_.r;
  basis.width = sizes.head_width();
  basis.gain = options_.basis_gain;
  basis.penalty = options_.basis_penalty;
  basis_ = Basis(*this, basis);
  if (options_.conv) {
    conv_ = ShortConvolution(*this, "conv", sizes.key_heads(), sizes.head_width(), options_.conv_width);
    conv_.start_as_mean_of_two();
  }
  const int64_t from = is_cross(pattern) && sizes.source_width > 0 ? sizes.source_width : sizes.width;
  beta_ = GateLogits(*this, "beta", from, sizes.heads, 0, sizes.bias, kInputGain);
  if (options_.decay != MemoryDecay::none) {
    const int64_t each = options_.decay == MemoryDecay::per_slot ? options_.r : 0;
    forget_ = GateLogits(*this, "forget", from, sizes.heads, each, true, kInputGain / 10);
    const at::NoGradGuard no_grad;
    forget_.bias().copy_(forget_bias(sizes.heads, std::max<int64_t>(each, 1)));
  }
  gain_ = register_parameter("gain", torch::full({sizes.width}, causal() ? options_.gain_init : 1.0));
  if (causal() && options_.epe) {
    const int64_t tables = options_.epe_sharing == LavoSelectiveOptions::TableSharing::per_head ? sizes.heads : 1;
    position_table_ =
        register_parameter("position_table", make_position_table(tables, options_.w - 1, options_.epe_init));
  }
}

FieldValues LavoSelectiveAttention::options() const {
  return with_nulls(lavo_selective_fields().values(options_), lavo_selective_unused(pattern()));
}

void LavoSelectiveAttention::after_step() {
  if (options_.addresses == LavoSelectiveOptions::Addresses::orthonormal) basis_.after_step();
}

AttentionProperties LavoSelectiveAttention::properties() const {
  AttentionProperties out;
  out.divides_by_norms = true;
  return out;
}

AttentionCost LavoSelectiveAttention::cost(int64_t queries, int64_t keys) const {
  const double width = static_cast<double>(sizes().width), slots = static_cast<double>(options_.r);
  const double read = static_cast<double>(queries), wrote = static_cast<double>(causal() ? queries : keys);
  const int64_t key_width = sizes().key_heads() * sizes().head_width();
  const int64_t taps = options_.conv ? options_.conv_width : 0;
  AttentionCost out;
  // Addresses of keys and queries; the decay of the state, what a key reads of it, and its write; what a query reads.
  out.flops = 2 * slots * width * (wrote + read) +
              slots * width * wrote * ((options_.decay == MemoryDecay::none ? 0 : 1) + (options_.delta ? 4 : 2)) +
              2 * slots * width * read + 2 * static_cast<double>(taps * key_width) * wrote;
  out.bytes = row_bytes(queries, keys, sizes().width, key_width, own_addresses() ? 3 : 2) +
              (own_addresses() ? 4 * width * read : 0) +
              4 * static_cast<double>(sizes().heads) * wrote *
                  (options_.decay == MemoryDecay::none     ? 1
                   : options_.decay == MemoryDecay::scalar ? 2
                                                           : 1 + slots);
  out.state_bytes = 8 + (causal() ? delta_bytes(shape()) : 4 * slots * width);
  if (causal()) {
    out.flops += 4 * width * band_pairs(queries, keys, options_.w - 1, 0);
    out.state_bytes += 4 * static_cast<double>((2 * (options_.w - 1) + std::max<int64_t>(taps - 1, 0)) * key_width);
  }
  return out;
}

at::Tensor LavoSelectiveAttention::address(const at::Tensor& rows) const {
  const at::Tensor scores = at::matmul(spread_heads(rows, sizes().heads), basis_.rows().transpose(-1, -2));
  return options_.addresses == LavoSelectiveOptions::Addresses::softmax ? scores.softmax(-1).to(scores.scalar_type())
                                                                        : unit_rows(scores);
}

at::Tensor LavoSelectiveAttention::convolved(const at::Tensor& k, const std::optional<at::Tensor>& cu,
                                             State* next) const {
  if (!conv_.defined()) return k;
  const at::Tensor rows = k.transpose(1, 2).flatten(2);
  const at::Tensor out = next != nullptr ? conv_.extend(*next, rows, cu) : conv_.forward(rows, cu);
  return out.unflatten(2, {k.size(1), k.size(3)}).transpose(1, 2);
}

MemoryWrites LavoSelectiveAttention::writes(const at::Tensor& k, const at::Tensor& v, const at::Tensor& beta_logits,
                                            const at::Tensor& forget_logits, const std::optional<at::Tensor>& cu,
                                            State* next) const {
  MemoryWrites out;
  out.keys = address(convolved(k, cu, next));
  out.values = spread_heads(v, sizes().heads);
  out.beta = beta_logits.sigmoid();
  // log(1 - sigmoid(z)), without the loss of digits where alpha is near 1.
  if (forget_logits.defined()) out.log_alpha = at::log_sigmoid(-forget_logits);
  if (memory_ablation_ == Ablation::swap) {
    for (at::Tensor* rows : {&out.keys, &out.values, &out.beta}) *rows = swapped_streams(method(), *rows, cu);
    if (out.log_alpha) out.log_alpha = swapped_streams(method(), *out.log_alpha, cu);
  }
  return out;
}

MemoryWrites LavoSelectiveAttention::project_writes(const at::Tensor& x, const at::Tensor& k, const at::Tensor& v,
                                                    const std::optional<at::Tensor>& cu, State* next) {
  return writes(own_addresses() ? project_.memory_keys(x) : k, v, beta_.of(x),
                forget_.defined() ? forget_.of(x) : at::Tensor(), cu, next);
}

ops::DeltaMemoryOptions LavoSelectiveAttention::memory_options(const std::optional<at::Tensor>& cu) const {
  ops::DeltaMemoryOptions out;
  out.delta = options_.delta;
  out.cu_seqlens = cu;
  return out;
}

at::Tensor LavoSelectiveAttention::remembered(const at::Tensor& rho, const MemoryWrites& writes,
                                              const std::optional<at::Tensor>& cu) const {
  return std::get<0>(ops::delta_memory(rho, writes.keys, writes.values, writes.beta, writes.log_alpha, std::nullopt,
                                       memory_options(cu)));
}

at::Tensor LavoSelectiveAttention::written(const MemoryWrites& writes, const std::optional<at::Tensor>& cu) const {
  // Nobody reads on the way.
  const at::Tensor nothing = at::zeros({1}, writes.keys.options()).expand_as(writes.keys);
  return std::get<1>(ops::delta_memory(nothing, writes.keys, writes.values, writes.beta, writes.log_alpha, std::nullopt,
                                       memory_options(cu)));
}

at::Tensor LavoSelectiveAttention::read(const at::Tensor& memory, const at::Tensor& rho,
                                        const std::optional<at::Tensor>& cu) const {
  // Nobody writes on the way: addresses and values of zeros.
  const auto zeros = [&](at::IntArrayRef sizes, const at::TensorOptions& options) {
    return at::zeros({1}, options).expand(sizes);
  };
  ops::DeltaMemoryOptions options;
  options.delta = false;
  options.cu_seqlens = cu;
  const int64_t batch = rho.size(0), heads = rho.size(1), length = rho.size(2);
  return std::get<0>(ops::delta_memory(rho, zeros(rho.sizes(), rho.options()),
                                       zeros({batch, heads, length, memory.size(3)}, rho.options()),
                                       zeros({batch, heads, length}, memory.options()), std::nullopt, memory, options));
}

at::Tensor LavoSelectiveAttention::local(const LocalRows& rows, const std::optional<at::Tensor>& cu,
                                         const std::optional<at::Tensor>& cu_k,
                                         const std::optional<at::Tensor>& dropout_origin) const {
  ops::LocalAttentionOptions options;
  options.reach_left = options_.w - 1;
  options.cu_seqlens = cu;
  options.cu_seqlens_k = cu_k;
  options.float32_out = rows.q.scalar_type() == at::kBFloat16;  // rounded once, after the memory was added
  if (drops_local()) {
    options.dropout = options_.dropout;
    options.dropout_seed = dropout_seed();
    options.dropout_origin = dropout_origin;
  }
  const std::optional<at::Tensor> table =
      position_table_.defined() ? std::optional<at::Tensor>(position_table_) : std::nullopt;
  return ops::local_attention(rows.q, rows.k, rows.v, table, options);
}

at::Tensor LavoSelectiveAttention::combine(const at::Tensor& local, const at::Tensor& memory,
                                           at::ScalarType dtype) const {
  const at::Tensor gain = gain_.view({sizes().heads, 1, -1});
  at::Tensor out = rms_rows(memory) * gain;
  if (memory_ablation_ == Ablation::zero) out = at::zeros_like(out);
  if (local.defined()) out = local_off_ ? out : local + out;
  return head_ablation_.apply(out).to(dtype);
}

at::Tensor LavoSelectiveAttention::attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
  LONGSPAN_CHECK(v.size(-1) == q.size(-1), "lavo_selective: the width of v must be the head width of q, ", q.size(-1),
                 ", got ", v.size(-1));
  const MemoryWrites in =
      writes(k, v, beta_.of_nothing(k.size(0), k.size(2), q.options()),
             forget_.defined() ? forget_.of_nothing(k.size(0), k.size(2), q.options()) : at::Tensor(), {}, nullptr);
  if (!causal()) return combine({}, read(written(in, {}), address(q), {}), q.scalar_type());
  return combine(local({q, k, v}, {}, {}, {}), remembered(address(q), in, {}), q.scalar_type());
}

at::Tensor LavoSelectiveAttention::forward_packed(const at::Tensor& x, const Packed& packed) {
  const at::Tensor& source = packed.source ? *packed.source : x;
  const at::Tensor q = project_.queries(x), k = project_.keys(source), v = project_.values(source);
  if (!causal()) {
    const at::Tensor memory = written(project_writes(source, k, v, packed.source_cu, nullptr), packed.source_cu);
    return project_.merge(combine({}, read(memory, address(q), packed.cu), q.scalar_type()));
  }
  const MemoryWrites in = project_writes(x, k, v, packed.cu, nullptr);
  const at::Tensor memory = remembered(address(own_addresses() ? project_.memory_queries(x) : q), in, packed.cu);
  const RotaryPositions rotary(sizes(), x, packed.cu);
  const at::Tensor near = local({rotary.turn(q), rotary.turn(k), v}, packed.cu, {}, {});
  return project_.merge(combine(near, memory, q.scalar_type()));
}

std::vector<std::string> LavoSelectiveAttention::ablations() const {
  std::vector<std::string> out = {"memory=none", "memory=zero", "memory=swap"};
  if (causal()) out.insert(out.end(), {"local=none", "local=zero"});
  HeadAblation::offer(out, sizes().heads);
  return out;
}

void LavoSelectiveAttention::set_ablation(const std::string& part, const std::string& way) {
  if (part == "memory")
    memory_ablation_ = way == "zero" ? Ablation::zero : way == "swap" ? Ablation::swap : Ablation::none;
  if (part == "local") local_off_ = way == "zero";
  if (part == "head") head_ablation_.set(way);
}

}  // namespace longspan::nn
