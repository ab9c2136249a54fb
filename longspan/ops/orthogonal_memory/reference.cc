#include "longspan/ops/orthogonal_memory/reference.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cumsum.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/floor_divide.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <vector>

#include "longspan/ops/common/load_dropout.h"
#include "longspan/ops/orthogonal_memory/check.h"

namespace longspan::ops::memory {
namespace {

// The state in the form in which this file computes: sums without corrections, [B, H, R], and always a `visible`.
struct Sums {
  at::Tensor closed, open, count, visible;
};

// Sequences of equal length: [B, H, N, D], [B, H, M, D], [H, R, D], all of the dtype in which this form computes.
struct Problem {
  at::Tensor q, m, basis;
  double scale = 1;
  int64_t window = 0;
  Accumulator accumulator = Accumulator::float64;
  Dropout dropout;
  int64_t first_row = 0;  ///< number of the first sequence, for dropout

  Problem(const char* op, const Inputs& x, const Options& o)
      : scale(o.scale),
        window(o.window),
        accumulator(parse_accumulator(op, o.accumulator)),
        dropout(load_dropout(o.dropout, o.dropout_seed)) {
    const auto dtype = sum_dtype(x.q);
    q = x.q.to(dtype);
    m = x.m.to(dtype);
    if (m.sym_size(1) != q.sym_size(1)) m = m.repeat_interleave_symint(q.sym_size(1) / m.sym_size(1), 1);
    basis = x.basis.to(dtype);
  }
  Problem sequence(const Segments& queries, const Segments& sources, int64_t s) const {
    Problem one = *this;
    one.q = q.narrow(2, queries.begin(s), queries.size(s));
    one.m = m.narrow(2, sources.begin(s), sources.size(s));
    one.first_row = s;
    return one;
  }
  at::ScalarType accumulator_dtype() const { return accumulator == Accumulator::float32 ? at::kFloat : at::kDouble; }
  at::Tensor projected() const { return at::matmul(m, basis.transpose(1, 2)).to(accumulator_dtype()); }
  at::Tensor zero_sums() const {
    return at::zeros_symint({q.sym_size(0), q.sym_size(1), basis.sym_size(1)}, q.options().dtype(accumulator_dtype()));
  }
  Sums fresh() const {
    const at::Tensor zeros = zero_sums();
    return {zeros, zeros, at::zeros_symint({q.sym_size(0)}, q.options().dtype(at::kLong)), zeros};
  }
};

// 0 or 1 / (1 - p) for each slot of each row; `count` [B]: positions before the first row.
at::Tensor slot_dropout(const Problem& x, const at::Tensor& count) {
  const at::Tensor factor = at::empty({x.q.size(0), x.q.size(1), x.q.size(2), x.basis.size(1)}, at::kDouble);
  const at::Tensor before = count.to(at::kCPU);
  double* out = factor.mutable_data_ptr<double>();
  for (int64_t b = 0; b < factor.size(0); ++b) {
    const int64_t start = before[b].item<int64_t>();
    for (int64_t h = 0; h < factor.size(1); ++h)
      for (int64_t t = 0; t < factor.size(2); ++t)
        for (int64_t i = 0; i < factor.size(3); ++i)
          *out++ = x.dropout.keeps(x.first_row + b, h, start + t, i) ? x.dropout.scale() : 0.0;
  }
  return factor.to(x.q.options());
}

// Equations 3 and 4: `mean` is H, [B, H, N or 1, R], of the dtype of the sums.
at::Tensor read(const Problem& x, const at::Tensor& mean_in, const at::Tensor& count) {
  const at::Tensor mean = mean_in.to(x.q.scalar_type());
  const at::Tensor scores = at::matmul(x.q, x.basis.transpose(1, 2)) * mean * x.scale;
  at::Tensor p = at::softmax(scores, -1);
  if (x.dropout.active()) p = p * slot_dropout(x, count);
  return at::matmul(p * mean, x.basis);
}

at::Tensor full(const Problem& x) {
  const c10::SymInt sources = x.m.sym_size(2);
  // No sources: a mean of 0, and so zeros.
  const at::Tensor mean = x.projected().sum(2, /*keepdim=*/true) / at::Scalar(sources > 0 ? sources : c10::SymInt(1));
  return read(x, mean, x.fresh().count);
}

// [B, H, T, R] of [B, H, N, R] by row numbers [B, 1, T, 1].
at::Tensor take_rows(const at::Tensor& x, const at::Tensor& rows) {
  return x.gather(2, rows.expand_symint({x.sym_size(0), x.sym_size(1), rows.sym_size(2), x.sym_size(3)}));
}

// What the rows read, [B, H, N + 1, R]: the last one is what the row behind the call will read (window) or nothing
// worth (token).
at::Tensor memories(const Problem& x, const at::Tensor& z, const Sums& before) {
  const c10::SymInt rows = x.q.sym_size(2);
  const at::Tensor carried = (before.closed + before.open).unsqueeze(2);
  const at::Tensor sums = at::cat({carried, carried + at::cumsum(z, 2)}, 2);  // over the positions before row 0 .. N
  const at::Tensor count = before.count.view({-1, 1, 1, 1});
  const at::Tensor position = count + at::arange(rows + 1, count.options()).view_symint({1, 1, rows + 1, 1});
  if (x.window == 0) return sums.slice_symint(2, 1) / position.slice_symint(2, 1);
  const at::Tensor border = at::floor_divide(position, x.window) * x.window;
  const at::Tensor at_border = take_rows(sums, (border - count).clamp_min(0)) / border.clamp_min(1);
  return at::where(border > count, at_border, before.visible.unsqueeze(2).to(at_border.scalar_type()));
}

Sums advance(const Problem& x, const at::Tensor& z, const Sums& before, const at::Tensor& memory) {
  const c10::SymInt rows = x.q.sym_size(2);
  const auto index = x.q.options().dtype(at::kLong);
  // Rows before `border` belong to chunks that are complete after this call.
  const at::Tensor total = before.count + at::Scalar(rows);
  const at::Tensor border = at::floor_divide(total, kernels::kMemoryChunk) * kernels::kMemoryChunk - before.count;
  const at::Tensor complete = (border > 0).view({-1, 1, 1});
  const at::Tensor rest = (at::arange(rows, index).unsqueeze(0) >= border.unsqueeze(1)).unsqueeze(1).unsqueeze(3);
  Sums after;
  after.closed = before.closed + before.open.masked_fill(complete.logical_not(), 0) + z.masked_fill(rest, 0).sum(2);
  after.open = before.open.masked_fill(complete, 0) + z.masked_fill(rest.logical_not(), 0).sum(2);
  after.count = total;
  if (x.window > 0) after.visible = memory.select_symint(2, rows).contiguous();
  return after;
}

// `after`: the state after the last row, where wanted.
at::Tensor causal(const Problem& x, const Sums& before, Sums* after) {
  const at::Tensor z = x.projected();
  const at::Tensor memory = memories(x, z, before);
  if (after) *after = advance(x, z, before, memory);
  return read(x, x.window > 0 ? memory.slice_symint(2, 0, x.q.sym_size(2)) : memory, before.count);
}

// Between the state of an accumulator and sums without corrections.
at::Tensor load_sums(const Problem& x, const at::Tensor& t) {
  if (x.accumulator != Accumulator::float32_compensated) return t;
  const auto halves = t.to(at::kDouble).chunk(2, 2);
  return halves[0] + halves[1];
}
at::Tensor store_sums(const Problem& x, const at::Tensor& t) {
  if (x.accumulator != Accumulator::float32_compensated) return t;
  const at::Tensor sum = t.to(at::kFloat);
  return at::cat({sum, (t - sum.to(at::kDouble)).to(at::kFloat)}, 2);
}

at::Tensor finish(const at::Tensor& out, const at::Tensor& q) { return with_layout(out.to(q.scalar_type()), q); }

}  // namespace

at::Tensor reference(const Inputs& x, std::string_view form_name, const Options& o) {
  const Form form = parse_form(form_name);
  check<c10::SymInt>(x, form, o);
  const Problem all(kOp, x, o);
  const auto run = [&](const Problem& p) { return form == Form::causal ? causal(p, p.fresh(), nullptr) : full(p); };
  if (!o.cu_seqlens) return finish(run(all), x.q);
  const Borders queries = load_borders(kOp, "cu_seqlens", o.cu_seqlens, 1, x.q.size(2));
  const Borders sources =
      o.cu_seqlens_source ? load_borders(kOp, "cu_seqlens_source", o.cu_seqlens_source, 1, x.m.size(2)) : queries;
  if (queries.sequences == 0) return finish(run(all), x.q);
  std::vector<at::Tensor> outs;
  for (int64_t s = 0; s < queries.sequences; ++s)
    outs.push_back(run(all.sequence(queries.segments, sources.segments, s)));
  return finish(at::cat(outs, 2), x.q);
}

Extended reference_extend(const Inputs& x, const State& state, const Options& o) {
  check_extend<c10::SymInt>(x, state, o);
  check_positions(kExtend, "count", state.count, x.q.size(2));
  const Problem all(kExtend, x, o);
  const at::Tensor closed = load_sums(all, state.closed), open = load_sums(all, state.open);
  const at::Tensor visible = state.visible.value_or(closed);
  const auto finish_state = [&](const at::Tensor& out, const Sums& after) -> Extended {
    return {finish(out, x.q), store_sums(all, after.closed), store_sums(all, after.open), after.count,
            o.window > 0 ? after.visible.to(at::kDouble) : at::empty({0}, after.count.options().dtype(at::kDouble))};
  };
  if (!o.cu_seqlens) {
    Sums after;
    const at::Tensor out = causal(all, {closed, open, state.count, visible}, &after);
    return finish_state(out, after);
  }
  const Borders rows = load_borders(kExtend, "cu_seqlens", o.cu_seqlens, 1, x.q.size(2));
  if (rows.sequences == 0)  // no rows and no streams; the copies because a result may not be an input
    return finish_state(causal(all, all.fresh(), nullptr),
                        {closed.clone(), open.clone(), state.count.clone(), visible.clone()});
  std::vector<at::Tensor> outs, closeds, opens, counts, visibles;
  for (int64_t s = 0; s < rows.sequences; ++s) {
    const auto of = [s](const at::Tensor& t) { return t.narrow(0, s, 1); };
    Sums after;
    outs.push_back(causal(all.sequence(rows.segments, rows.segments, s),
                          {of(closed), of(open), of(state.count), of(visible)}, &after));
    closeds.push_back(after.closed);
    opens.push_back(after.open);
    counts.push_back(after.count);
    if (o.window > 0) visibles.push_back(after.visible);
  }
  return finish_state(at::cat(outs, 2), {at::cat(closeds), at::cat(opens), at::cat(counts),
                                         o.window > 0 ? at::cat(visibles) : at::Tensor()});
}

}  // namespace longspan::ops::memory
