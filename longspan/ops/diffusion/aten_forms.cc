#include "longspan/ops/diffusion/aten_forms.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/repeat_interleave.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "longspan/base/diffusion_seeds.h"
#include "longspan/ops/common/dropout.h"
#include "longspan/ops/common/rows.h"
#include "longspan/ops/diffusion/check.h"
#include "longspan/ops/diffusion/patterns.h"

namespace longspan::ops::diffuse {
namespace {

/// Sequences that share a pattern, by number.
struct Group {
  int64_t pattern;
  std::vector<int64_t> sequences;
};

std::vector<Group> groups_of(const LoadedPatterns& patterns) {
  std::vector<Group> out;
  std::vector<int64_t> place(static_cast<std::size_t>(patterns.count()), -1);
  for (int64_t s = 0; s < patterns.sequences(); ++s) {
    const int64_t number = patterns.of()[static_cast<std::size_t>(s)];
    int64_t& at = place[static_cast<std::size_t>(number)];
    if (at < 0) {
      at = static_cast<int64_t>(out.size());
      out.push_back({number, {}});
    }
    out[static_cast<std::size_t>(at)].sequences.push_back(s);
  }
  return out;
}

at::Tensor numbers(const std::vector<int64_t>& values, const at::Tensor& like) {
  const at::Tensor out = at::empty({static_cast<int64_t>(values.size())}, at::kLong);
  std::copy(values.begin(), values.end(), out.mutable_data_ptr<int64_t>());
  return out.to(like.device(), /*non_blocking=*/true);
}

at::Tensor drop_hop(const at::Tensor& z, const Call& call, const Options& o, int64_t hop) {
  if (o.hop_dropout == 0) return z;
  const auto offset = static_cast<int64_t>(diffusion_hop_seed(0, hop));
  const DropoutMask dropout(o.hop_dropout, *o.dropout_seed + offset, z);
  const int64_t batch = z.size(0), heads = z.size(1), rows = z.size(2);
  const auto index = call.row.options();
  return dropout.apply(z, call.row.view({batch, 1, 1, 1}), at::arange(heads, index).view({heads, 1, 1}),
                       call.position.narrow(1, call.first_row, rows).view({batch, 1, rows, 1}),
                       at::arange((z.size(3) + 3) / 4, index));
}

/// 0, of which t has the gradient 0: for operands that a result does not depend on.
at::Tensor zero_of(const at::Tensor& t) { return t.slice(-1, 0, 0).sum(); }

AtenOutputs diffuse(Backend chosen, const Call& call, const Options& o, bool want_states) {
  const std::unique_ptr<Attention> attention =
      chosen == Backend::reference ? reference_attention(call, o) : composed_attention(call, o);
  const at::Tensor& v = call.v;
  const auto times = [&](int64_t which, const at::Tensor& t) {
    return call.coefficients.select(1, which).view({-1, 1, 1}) * t;
  };
  const int64_t hops = (call.coefficients.size(1) - 1) / 2;
  std::vector<at::Tensor> states;
  at::Tensor z = times(0, v);
  if (hops == 0) z = z + zero_of(call.q) + zero_of(call.k);
  if (hops == 0 && call.past.defined()) z = z + zero_of(call.past);
  for (int64_t hop = 0; hop < hops; ++hop) {
    if (want_states) states.push_back(z);
    const at::Tensor all = call.past.defined() ? at::cat({call.past.select(2, hop), z}, 2) : z;
    z = times(2 * hop + 1, attention->mix(all, hop)) + times(2 * hop + 2, v);
    z = drop_hop(z, call, o, hop);
  }
  AtenOutputs out{z, attention->lse(), {}};
  if (want_states)
    out.states =
        hops > 0 ? at::stack(states, 2) : at::zeros({v.size(0), v.size(1), 0, v.size(2), v.size(3)}, v.options());
  return out;
}

/// Everything of a call that its groups share.
class Batch {
 public:
  Batch(const Inputs& x, const Options& o, const at::Tensor& coefficients, const at::Tensor& past,
        const OptionalTensor& positions)
      : o_(o), coefficients_(coefficients), past_(past) {
    const auto dtype = sum_dtype(x.q);
    const int64_t heads = x.q.size(1), kv_heads = x.k.size(1);
    const auto for_each_head = [&](const at::Tensor& t) {
      const at::Tensor wide = t.to(dtype);
      return kv_heads == heads ? wide : at::repeat_interleave(wide, heads / kv_heads, 1);
    };
    q_ = x.q.to(dtype) * o.scale.value_or(default_scale(x.q.size(3)));
    k_ = for_each_head(x.k);
    v_ = for_each_head(x.v);
    index_ = x.q.options().dtype(at::kLong);
    if (positions) positions_ = positions->to(x.q.device(), /*non_blocking=*/true);
    if (o.dropout_origin) origin_ = o.dropout_origin->to(x.q.device(), /*non_blocking=*/true);
    if (o.valid) {
      valid_ = *o.valid;
      // What stands in tokens that are not there must not reach a product, were it not a number.
      const at::Tensor invalid = valid_.logical_not().unsqueeze(1).unsqueeze(-1);
      q_ = q_.masked_fill(invalid, 0);
      k_ = k_.masked_fill(invalid, 0);
      if (o.padding == "remove") v_ = v_.masked_fill(invalid, 0);
    }
  }

  /// Of a batch: its rows `sequences`. Of a pack: those that begin at `starts`.
  Call call(const PatternView& pattern, const std::vector<int64_t>& sequences,
            const std::vector<int64_t>& starts) const {
    const int64_t count = static_cast<int64_t>(sequences.size()), n = pattern.n;
    const at::Tensor which = numbers(sequences, q_);
    Call c;
    c.pattern = &pattern;
    const auto rows = [&](const at::Tensor& t) {
      if (!t.defined()) return t;
      if (!starts.empty()) return packed_rows(t, starts, n);
      return count == t.size(0) ? t : t.index_select(0, which);
    };
    c.q = rows(q_);
    c.k = rows(k_);
    c.v = rows(v_);
    c.first_row = c.k.size(2) - c.q.size(2);
    c.coefficients = coefficients_;
    if (starts.empty()) {
      c.valid = rows(valid_);
      c.past = rows(past_);
    }
    const at::Tensor position = (positions_.defined() ? positions_ : at::arange(n, index_)).unsqueeze(0);
    if (origin_.defined()) {
      const at::Tensor origin = origin_.index_select(0, which);
      c.row = origin.select(1, 0);
      c.position = position + origin.slice(1, 1, 2);
    } else {
      c.row = which;
      c.position = position.expand({count, n});
    }
    return c;
  }

 private:
  static at::Tensor packed_rows(const at::Tensor& t, const std::vector<int64_t>& starts, int64_t n) {
    std::vector<at::Tensor> parts;
    for (const int64_t start : starts) parts.push_back(t.narrow(2, start, n));
    return parts.size() == 1 ? parts[0] : at::cat(parts, 0);
  }

  const Options& o_;
  at::Tensor coefficients_, past_, q_, k_, v_, valid_, positions_, origin_;
  at::TensorOptions index_;
};

/// Results of groups, put where their sequences stand.
class Collector {
 public:
  explicit Collector(bool packed) : packed_(packed) {}

  void add(AtenOutputs part, const std::vector<int64_t>& sequences, const std::vector<int64_t>& starts) {
    const int64_t rows = part.lse.size(2);
    if (packed_) {
      for (const int64_t start : starts)
        for (int64_t i = 0; i < rows; ++i) places_.push_back(start + i);
      // [b, H, .., N, W] -> [1, H, .., b N, W]
      part.out = join(part.out, 2);
      part.lse = join(part.lse, 2);
      if (part.states.defined()) part.states = join(part.states, 3);
    } else {
      places_.insert(places_.end(), sequences.begin(), sequences.end());
    }
    parts_.push_back(std::move(part));
  }

  AtenOutputs finish() const {
    const auto ordered = [&](at::Tensor AtenOutputs::*member, int64_t dim) {
      if (!(parts_[0].*member).defined()) return at::Tensor();
      std::vector<at::Tensor> all;
      for (const AtenOutputs& part : parts_) all.push_back(part.*member);
      const at::Tensor joined = all.size() == 1 ? all[0] : at::cat(all, dim);
      if (std::is_sorted(places_.begin(), places_.end())) return joined;
      std::vector<int64_t> from(places_.size());
      for (std::size_t i = 0; i < places_.size(); ++i)
        from[static_cast<std::size_t>(places_[i])] = static_cast<int64_t>(i);
      return joined.index_select(dim, numbers(from, joined));
    };
    return {ordered(&AtenOutputs::out, packed_ ? 2 : 0), ordered(&AtenOutputs::lse, packed_ ? 2 : 0),
            ordered(&AtenOutputs::states, packed_ ? 3 : 0)};
  }

 private:
  static at::Tensor join(const at::Tensor& t, int64_t rows) {
    return t.size(0) == 1 ? t : t.movedim(0, rows - 1).flatten(rows - 1, rows).unsqueeze(0);
  }

  bool packed_;
  std::vector<AtenOutputs> parts_;
  std::vector<int64_t> places_;  ///< of each batch row, or row of the pack, in the order of the parts
};

/// The results where there are no tokens, sequences or heads; they hang on the operands, so that these have gradients.
AtenOutputs nothing(const Inputs& x, int64_t hops, const at::Tensor& past) {
  const int64_t batch = x.q.size(0), heads = x.q.size(1), rows = x.q.size(2), width = x.v.size(3);
  const auto dtype = sum_dtype(x.q);
  at::Tensor zero = (zero_of(x.q) + zero_of(x.k) + zero_of(x.v)).to(dtype) + zero_of(x.coefficients);
  if (past.defined()) zero = zero + zero_of(past);
  const auto infinity = std::numeric_limits<double>::infinity();
  return {zero.expand({batch, heads, rows, width}),
          at::full({batch, heads, rows}, -infinity, x.q.options().dtype(dtype)),
          zero.expand({batch, heads, hops, rows, width})};
}

AtenOutputs run_groups(Backend chosen, const Inputs& x, const LoadedPatterns& patterns, const Options& o,
                       const at::Tensor& past, const OptionalTensor& positions, bool want_states) {
  const Batch batch(x, o, x.coefficients, past, positions);
  std::vector<int64_t> start(static_cast<std::size_t>(patterns.sequences()) + 1);
  for (int64_t s = 0; s < patterns.sequences(); ++s)
    start[static_cast<std::size_t>(s) + 1] = start[static_cast<std::size_t>(s)] + patterns.of(s).view().n;
  Collector collector(o.cu_seqlens.has_value());
  for (const Group& group : groups_of(patterns)) {
    const PatternView& pattern = patterns[group.pattern].view();
    if (pattern.n == 0) continue;
    std::vector<int64_t> starts;
    if (o.cu_seqlens)
      for (const int64_t s : group.sequences) starts.push_back(start[static_cast<std::size_t>(s)]);
    collector.add(diffuse(chosen, batch.call(pattern, group.sequences, starts), o, want_states), group.sequences,
                  starts);
  }
  return collector.finish();
}

AtenOutputs run(Backend chosen, const Inputs& x, const LoadedPatterns& patterns, const Options& o,
                const at::Tensor& past, const OptionalTensor& positions, bool want_states) {
  const int64_t hops = (x.coefficients.size(1) - 1) / 2;
  AtenOutputs y = x.q.numel() == 0 || patterns.sequences() == 0
                      ? nothing(x, hops, past)
                      : run_groups(chosen, x, patterns, o, past, positions, want_states);
  y.out = with_layout(y.out.to(x.q.scalar_type()), x.q);
  y.lse = y.lse.clone(at::MemoryFormat::Contiguous);  // contiguous() would keep the strides of dimensions of size 1
  if (y.states.defined()) y.states = y.states.contiguous();
  return y;
}

}  // namespace

AtenOutputs run_in_aten(Backend chosen, const Inputs& x, const Patterns& given, const Options& o, bool want_states) {
  const auto shape = check<int64_t>(x, given, o);
  const LoadedPatterns patterns(kOp, given, shape.sequences, /*again=*/true);
  if (o.cu_seqlens)
    patterns.check_packing(*o.cu_seqlens, shape.rows);
  else
    patterns.check_sizes(shape.rows);
  return run(chosen, x, patterns, o, {}, std::nullopt, want_states);
}

AtenOutputs run_extend_in_aten(Backend chosen, const Inputs& x, const Past& past, const Patterns& given,
                               const Options& o) {
  const auto shape = check_extend<int64_t>(x, past, given, o);
  const LoadedPatterns patterns(kExtendOp, given, shape.sequences, /*again=*/false);
  patterns.check_sizes(shape.keys);
  return run(chosen, x, patterns, o, past.states, past.positions, /*want_states=*/true);
}

}  // namespace longspan::ops::diffuse
