#include "longspan/ops/delta_memory/reference.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <vector>

#include "longspan/ops/delta_memory/check.h"

namespace longspan::ops::delta {
namespace {

// Sequences of equal length in float64; log_alpha is undefined without decay, else [B, H, N, 1 or R].
struct Problem {
  at::Tensor q, k, v, beta, log_alpha;
  bool delta;

  Problem(const Inputs& x, const Options& o)
      : q(x.q.to(at::kDouble)),
        k(x.k.to(at::kDouble)),
        v(x.v.to(at::kDouble)),
        beta(x.beta.to(at::kDouble)),
        delta(o.delta) {
    if (!x.log_alpha) return;
    log_alpha = x.log_alpha->to(at::kDouble);
    if (log_alpha.dim() == 3) log_alpha = log_alpha.unsqueeze(3);
  }
  Problem sequence(const Segments& rows, int64_t s) const {
    Problem one = *this;
    for (at::Tensor* t : {&one.q, &one.k, &one.v, &one.beta, &one.log_alpha})
      if (t->defined()) *t = t->narrow(2, rows.begin(s), rows.size(s));
    return one;
  }
  int64_t rows() const { return q.sym_size(2).guard_int(__FILE__, __LINE__); }
  at::Tensor zero_state() const {
    return at::zeros_symint({q.sym_size(0), q.sym_size(1), q.sym_size(3), v.sym_size(3)}, q.options());
  }
};

/// S [B, H, R, D] times Diag(exp(log_alpha)), log_alpha [B, H, 1 or R] or undefined.
at::Tensor decayed(const at::Tensor& state, const at::Tensor& log_alpha) {
  return log_alpha.defined() ? state * log_alpha.exp().unsqueeze(3) : state;
}

at::Tensor row_of(const at::Tensor& t, int64_t row) { return t.defined() ? t.select(2, row) : t; }

/// S^T x for x [B, H, R].
at::Tensor read(const at::Tensor& state, const at::Tensor& x) { return (state * x.unsqueeze(3)).sum(2); }

/// S + k w^T.
at::Tensor written(const at::Tensor& state, const at::Tensor& k, const at::Tensor& w) {
  return state + k.unsqueeze(3) * w.unsqueeze(2);
}

/// Equations 1 to 3 of one row; `w` becomes beta e.
at::Tensor step(const Problem& x, int64_t row, const at::Tensor& state, at::Tensor& w) {
  const at::Tensor before = decayed(state, row_of(x.log_alpha, row)), k = x.k.select(2, row);
  const at::Tensor e = x.delta ? x.v.select(2, row) - read(before, k) : x.v.select(2, row);
  w = x.beta.select(2, row).unsqueeze(2) * e;
  return written(before, k, w);
}

/// The rows of the output, or none of them.
at::Tensor joined(const std::vector<at::Tensor>& rows, const Problem& x, const at::Tensor& state) {
  return rows.empty() ? at::matmul(x.q, state) : at::stack(rows, 2);
}

struct Result {
  at::Tensor out, state;
};
Result run(const Problem& x, at::Tensor state) {
  std::vector<at::Tensor> out;
  at::Tensor w;
  for (int64_t row = 0; row < x.rows(); ++row) {
    state = step(x, row, state, w);
    out.push_back(read(state, x.q.select(2, row)));
  }
  return {joined(out, x, state), state};
}

// A stream's state, in float64; log_alpha is undefined without decay, else [B, H, C, 1 or R].
struct Carried {
  at::Tensor memory, keys, writes, log_alpha, position;

  explicit Carried(const State& s)
      : memory(s.memory.to(at::kDouble)),
        keys(s.keys.to(at::kDouble)),
        writes(s.writes.to(at::kDouble)),
        position(s.position) {
    if (!s.log_alpha) return;
    log_alpha = s.log_alpha->to(at::kDouble);
    if (log_alpha.dim() == 3) log_alpha = log_alpha.unsqueeze(3);
  }
  Carried sequence(int64_t s) const {
    Carried one = *this;
    for (at::Tensor* t : {&one.memory, &one.keys, &one.writes, &one.log_alpha, &one.position})
      if (t->defined()) *t = t->narrow(0, s, 1);
    return one;
  }
};

/// [B] as a condition beside [B, H, .., ..].
at::Tensor beside(const at::Tensor& condition) { return condition.view({-1, 1, 1, 1}); }

/// Streams that go on from a state, whose chunks end at different rows.
class Streams {
 public:
  Streams(const Problem& x, const Carried& before) : x_(x), carried_(before), state_(before.memory) {
    const at::Tensor place = places();
    const at::Tensor behind = beside(carried_.position.remainder(kDeltaChunk)) <= place;  // never read
    for (at::Tensor* t : {&carried_.keys, &carried_.writes, &carried_.log_alpha})
      if (t->defined()) *t = t->masked_fill(behind, 0);
    for (int64_t c = 0; c < kDeltaChunk; ++c)  // rows of zeros change nothing
      state_ = written(decayed(state_, row_of(carried_.log_alpha, c)), carried_.keys.select(2, c),
                       carried_.writes.select(2, c));
  }

  at::Tensor run() {
    std::vector<at::Tensor> out;
    at::Tensor w;
    for (int64_t row = 0; row < x_.rows(); ++row) {
      begin_chunks();
      state_ = step(x_, row, state_, w);
      out.push_back(read(state_, x_.q.select(2, row)));
      const at::Tensor here = beside(carried_.position.remainder(kDeltaChunk)) == places();
      put(here, x_.k.select(2, row), carried_.keys);
      put(here, w, carried_.writes);
      if (x_.log_alpha.defined()) put(here, x_.log_alpha.select(2, row), carried_.log_alpha);
      carried_.position = carried_.position + 1;
    }
    begin_chunks();
    return joined(out, x_, state_);
  }
  const Carried& after() const { return carried_; }

 private:
  at::Tensor places() const { return at::arange(kDeltaChunk, carried_.position.options()).view({1, 1, -1, 1}); }
  static void put(const at::Tensor& here, const at::Tensor& row, at::Tensor& chunk) {
    chunk = at::where(here, row.unsqueeze(2), chunk);
  }
  /// At a border the state becomes the memory, and the rows of the chunk are forgotten.
  void begin_chunks() {
    const at::Tensor border = beside(carried_.position.remainder(kDeltaChunk) == 0);
    carried_.memory = at::where(border, state_, carried_.memory);
    for (at::Tensor* t : {&carried_.keys, &carried_.writes, &carried_.log_alpha})
      if (t->defined()) *t = t->masked_fill(border, 0);
  }

  const Problem& x_;
  Carried carried_;
  at::Tensor state_;  // behind the last row
};

at::Tensor finish(const at::Tensor& out, const at::Tensor& q) { return with_layout(out.to(q.scalar_type()), q); }

Extended finish(const at::Tensor& out, const Carried& after, const Inputs& x) {
  const auto plain = [&](const at::Tensor& t) { return t.to(sum_dtype(x.q)).contiguous(); };
  State s{plain(after.memory), plain(after.keys), plain(after.writes), std::nullopt, after.position.clone()};
  if (x.log_alpha) s.log_alpha = plain(x.log_alpha->dim() == 3 ? after.log_alpha.squeeze(3) : after.log_alpha);
  return {finish(out, x.q), s, absent(x.q)};
}

}  // namespace

Outputs reference(const Inputs& x, const OptionalTensor& state, const Options& o) {
  check<c10::SymInt>(x, state, o);
  const Problem all(x, o);
  const auto finish_all = [&](const at::Tensor& out, const at::Tensor& last) -> Outputs {
    return {finish(out, x.q), last.to(sum_dtype(x.q)).clone(at::MemoryFormat::Contiguous), absent(x.q)};
  };
  if (!o.cu_seqlens) {
    const Result r = run(all, state ? state->to(at::kDouble) : all.zero_state());
    return finish_all(r.out, r.state);
  }
  const Borders rows = load_borders(kOp, "cu_seqlens", o.cu_seqlens, 1, x.q.size(2));
  std::vector<at::Tensor> outs = {x.v.narrow(2, 0, 0).to(at::kDouble)}, states = {all.zero_state().narrow(0, 0, 0)};
  for (int64_t s = 0; s < rows.sequences; ++s) {
    const Result r =
        run(all.sequence(rows.segments, s), state ? state->narrow(0, s, 1).to(at::kDouble) : all.zero_state());
    outs.push_back(r.out);
    states.push_back(r.state);
  }
  return finish_all(at::cat(outs, 2), at::cat(states));
}

Extended reference_extend(const Inputs& x, const State& state, const Options& o) {
  check_extend<c10::SymInt>(x, state, o);
  const Problem all(x, o);
  const Carried before(state);
  check_positions(kExtend, "position", state.position, all.rows());
  if (!o.cu_seqlens) {
    Streams streams(all, before);
    const at::Tensor out = streams.run();
    return finish(out, streams.after(), x);
  }
  const Borders rows = load_borders(kExtend, "cu_seqlens", o.cu_seqlens, 1, x.q.size(2));
  std::vector<at::Tensor> outs = {x.v.narrow(2, 0, 0).to(at::kDouble)};
  std::vector<Carried> after;
  for (int64_t s = 0; s < rows.sequences; ++s) {
    const Problem one = all.sequence(rows.segments, s);
    Streams streams(one, before.sequence(s));
    outs.push_back(streams.run());
    after.push_back(streams.after());
  }
  Carried last = before;
  const auto join = [&](at::Tensor Carried::*member) {
    std::vector<at::Tensor> parts = {(before.*member).defined() ? (before.*member).narrow(0, 0, 0) : at::Tensor()};
    for (const Carried& one : after) parts.push_back(one.*member);
    if (parts[0].defined()) last.*member = at::cat(parts);
  };
  for (const auto member :
       {&Carried::memory, &Carried::keys, &Carried::writes, &Carried::log_alpha, &Carried::position})
    join(member);
  return finish(at::cat(outs, 2), last, x);
}

}  // namespace longspan::ops::delta
