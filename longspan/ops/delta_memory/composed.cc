#include "longspan/ops/delta_memory/composed.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/diag_embed.h>
#include <ATen/ops/linalg_solve_triangular.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros_like.h>

#include <limits>

#include "longspan/ops/common/packing.h"
#include "longspan/ops/delta_memory/check.h"
#include "longspan/ops/delta_memory/chunk_layout.h"
#include "longspan/ops/delta_memory/chunk_scan.h"

namespace longspan::ops::delta {
namespace {

// Positions that cannot be checked, because they lie on another device, stop here.
constexpr int64_t kLastPosition = std::numeric_limits<int64_t>::max();

using Sizes = Shape<c10::SymInt>;

// The decays of equation 5, W = 1 or R; undefined without decay, where they are 1.
struct Decays {
  at::Tensor pair;   // G [H, chunks, C, C, W], 0 above the diagonal
  at::Tensor since;  // a [H, chunks, C, W]
  at::Tensor until;  // g [H, chunks, C, W]
  at::Tensor whole;  // a_C [H, chunks, W]
};

// log_alpha: [H, chunks, C, W]. Each exponent is the sum of just the numbers that belong to it, by a product with zeros
// and ones: a difference of running sums would lose the digits of the smaller one, and be NaN where both are -infinity.
Decays decays_of(const at::Tensor& log_alpha) {
  const auto index = log_alpha.options().dtype(at::kLong);
  const at::Tensor place = at::arange(kDeltaChunk, index), begin = at::arange(kDeltaChunk + 1, index);
  // From place begin - 1 (column 0: from before the chunk) to place t: the factors i with begin <= i <= t.
  const at::Tensor t = place.view({-1, 1, 1});
  const at::Tensor within = (place <= t).logical_and(place >= begin.view({-1, 1}));  // [C, C + 1, C]
  const at::Tensor sums = within.flatten(0, 1).to(log_alpha.scalar_type());
  const at::Tensor forgets = log_alpha == -std::numeric_limits<double>::infinity();
  const at::Tensor forgotten = at::matmul(sums, forgets.to(log_alpha.scalar_type())) > 0;
  const at::Tensor later = (begin > place.unsqueeze(1) + 1).view({-1, 1});
  const at::Tensor exponent = at::matmul(sums, log_alpha.masked_fill(forgets, 0))
                                  .masked_fill(forgotten.logical_or(later), -std::numeric_limits<double>::infinity());
  const at::Tensor all = exponent.exp().unflatten(2, {kDeltaChunk, kDeltaChunk + 1});
  const at::Tensor since = all.select(3, 0), pair = all.slice(3, 1);
  return {pair, since, pair.select(2, kDeltaChunk - 1), since.select(2, kDeltaChunk - 1)};
}

at::Tensor times(const at::Tensor& x, const at::Tensor& decay) { return decay.defined() ? x * decay : x; }

// [H, streams, ..] -> [streams, H, ..], laid out like a new tensor also where a dimension has one element.
at::Tensor streams_first(const at::Tensor& x) { return x.transpose(0, 1).clone(at::MemoryFormat::Contiguous); }

at::Tensor transposed(const at::Tensor& x) { return x.transpose(-2, -1); }

// The writes that came in the state and the other rows of its chunks, [streams, H, C, ..]; nothing of it in a call that
// does not go on from a stream.
struct CarriedRows {
  at::Tensor keys, writes, log_alpha;
};

class Chunks {
 public:
  Chunks(const Inputs& x, const Sizes& s, const Options& o, const ChunkLayout& layout, const OptionalTensor& state,
         const CarriedRows& carried)
      : layout_(layout), delta_(o.delta), slots_(s.slots), dtype_(sum_dtype(x.q)) {
    q_ = spread(x.q);
    k_ = with_carried(spread(x.k), carried.keys);
    v_ = spread(x.v);
    beta_ = spread(x.beta.unsqueeze(3));
    if (carried.writes.defined()) given_ = with_carried(at::zeros_like(v_), carried.writes);
    if (x.log_alpha) {
      const at::Tensor& t = *x.log_alpha;
      log_alpha_ = with_carried(spread(t.dim() == 3 ? t.unsqueeze(3) : t), carried.log_alpha);
      decays_ = decays_of(log_alpha_);
    }
    solve();
    run(state);
  }

  /// [B, H, N, D]
  at::Tensor out() const {
    return layout_.collect(at::matmul(times(q_, decays_.since), states_) + at::matmul(p_, writes_));
  }
  /// The states behind the last rows, [streams, H, R, D].
  at::Tensor after() const {
    const at::Tensor& last = layout_.last();
    return streams_first(maps_.multiply(maps_.factor.index_select(1, last), states_.index_select(1, last)) +
                         maps_.term.index_select(1, last));
  }
  /// Of the last chunks, [streams, H, ..]: the states before them, and their rows.
  at::Tensor memory() const { return of_last(states_); }
  at::Tensor keys() const { return of_last(k_); }
  at::Tensor writes() const { return ChunkLayout::without_rows_from(layout_.open_rows(), of_last(writes_)); }
  at::Tensor log_alpha() const { return of_last(log_alpha_); }

 private:
  at::Tensor spread(const at::Tensor& x) const { return layout_.spread(x.to(dtype_)); }
  at::Tensor with_carried(const at::Tensor& x, const at::Tensor& carried) const {
    if (!carried.defined()) return x;
    const at::Tensor rows = ChunkLayout::without_rows_from(layout_.carried(), carried.to(dtype_));
    return x.index_add(1, layout_.first(), rows.transpose(0, 1));
  }
  at::Tensor of_last(const at::Tensor& x) const { return streams_first(x.index_select(1, layout_.last())); }

  /// A (delta only) and P of equation 6.
  void form_pairs(at::Tensor& a) {
    const at::Tensor& pair = decays_.pair;
    if (pair.defined() && pair.sym_size(4) != 1) {
      const at::Tensor earlier = pair * k_.unsqueeze(2);  // G_tj o k_j
      const auto both = at::matmul(earlier, at::stack({k_, q_}, 4));
      a = both.select(4, 0);
      p_ = both.select(4, 1);
    } else {
      a = at::matmul(k_, transposed(k_));
      p_ = at::matmul(q_, transposed(k_));
      if (pair.defined()) {
        a = a * pair.squeeze(4);
        p_ = p_ * pair.squeeze(4);
      }
    }
    a = a.tril(-1);
    p_ = p_.tril();
  }

  /// Equation 7 as an affine function of S_0, e = values_ - reads_ S_0, and with it the chunks' maps (9).
  void solve() {
    at::Tensor a;
    form_pairs(a);
    values_ = v_;
    if (delta_) {
      // The writes that are given are no unknowns: their rows have a beta of 0.
      if (given_.defined()) values_ = values_ - at::matmul(a, given_);
      const at::Tensor right = at::cat({values_, times(k_, decays_.since)}, 3);
      const at::Tensor solved = at::linalg_solve_triangular(a * transposed(beta_), right, /*upper=*/false,
                                                            /*left=*/true, /*unitriangular=*/true);
      values_ = solved.narrow_symint(3, 0, v_.sym_size(3));
      reads_ = solved.narrow_symint(3, v_.sym_size(3), slots_);
    }
    const at::Tensor ends = transposed(times(k_, decays_.until));
    at::Tensor whole =
        decays_.whole.defined() ? decays_.whole : at::ones_symint({v_.sym_size(0), v_.sym_size(1), 1}, v_.options());
    maps_.diagonal = !delta_;
    maps_.term = at::matmul(ends, write(values_));
    if (delta_) {
      whole = whole.expand_symint({v_.sym_size(0), v_.sym_size(1), slots_});
      maps_.factor = at::diag_embed(whole) - at::matmul(ends, beta_ * reads_);
    } else {
      maps_.factor = whole.unsqueeze(3);
    }
  }
  at::Tensor write(const at::Tensor& e) const { return given_.defined() ? beta_ * e + given_ : beta_ * e; }

  /// The states before the chunks, and the writes.
  void run(const OptionalTensor& state) {
    const at::Tensor& first = layout_.first();
    ChunkMaps maps = maps_;
    at::Tensor begin;
    if (state) {
      begin = state->to(dtype_).transpose(0, 1);
      maps.term = maps.term.index_add(1, first, maps.multiply(maps.factor.index_select(1, first), begin));
    }
    states_ = states_before(maps, layout_.begins()).masked_fill(layout_.begins().view({1, -1, 1, 1}), 0);
    if (state) states_ = states_.index_add(1, first, begin);
    writes_ = write(delta_ ? values_ - at::matmul(reads_, states_) : values_);
  }

  const ChunkLayout& layout_;
  bool delta_;
  c10::SymInt slots_;
  at::ScalarType dtype_;
  at::Tensor q_, k_, v_, beta_, log_alpha_;  // [H, chunks, C, ..]
  at::Tensor given_;                         // writes that came in the state, zeros elsewhere; or undefined
  Decays decays_;
  at::Tensor p_, values_, reads_, writes_;
  ChunkMaps maps_;
  at::Tensor states_;  // [H, chunks, R, D]
};

void check_values(const char* op, const Inputs& x, const Options& o) {
  if (readable_on_host(o.cu_seqlens)) load_borders(op, "cu_seqlens", o.cu_seqlens, 1, x.q.size(2));
}

at::Tensor finish(const at::Tensor& out, const at::Tensor& q) { return with_layout(out.to(q.scalar_type()), q); }

}  // namespace

Outputs composed(const Inputs& x, const OptionalTensor& state, const Options& o) {
  const auto s = check<c10::SymInt>(x, state, o);
  check_values(kOp, x, o);
  const ChunkLayout layout(x, s, o, std::nullopt);
  const Chunks chunks(x, s, o, layout, state, {});
  return {finish(chunks.out(), x.q), chunks.after(), absent(x.q)};
}

Extended composed_extend(const Inputs& x, const State& state, const Options& o) {
  const auto s = check_extend<c10::SymInt>(x, state, o);
  check_values(kExtend, x, o);
  if (state.position.is_cpu() && has_values(state.position))
    check_positions(kExtend, "position", state.position, x.q.size(2));
  const ChunkLayout layout(x, s, o, state.position);
  at::Tensor rows;  // [streams, H, C, W]
  if (state.log_alpha) rows = s.decay == DeltaDecay::scalar ? state.log_alpha->unsqueeze(3) : *state.log_alpha;
  const Chunks chunks(x, s, o, layout, state.memory, {state.keys, state.writes, rows});
  State after{chunks.memory(), chunks.keys(), chunks.writes(), std::nullopt,
              state.position + layout.lengths().minimum(kLastPosition - state.position)};
  if (state.log_alpha)
    after.log_alpha = s.decay == DeltaDecay::scalar ? chunks.log_alpha().squeeze(3) : chunks.log_alpha();
  return {finish(chunks.out(), x.q), after, absent(x.q)};
}

}  // namespace longspan::ops::delta
