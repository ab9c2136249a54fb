#include "longspan/ops/orthogonal_memory/reference.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cumsum.h>
#include <ATen/ops/floor_divide.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <vector>

#include "longspan/kernels/memory/memory.h"
#include "longspan/ops/orthogonal_memory/check.h"

namespace longspan::ops::memory {
namespace {

// [B, H, N, D], [B, H, M, D], [H, R, D], all of the dtype in which this form computes.
struct Operands {
  at::Tensor q, m, basis;
  double scale;

  Operands(const at::Tensor& q_in, const at::Tensor& m_in, const at::Tensor& basis_in, double scale_in)
      : scale(scale_in) {
    const auto dtype = q_in.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
    q = q_in.to(dtype);
    m = m_in.to(dtype);
    basis = basis_in.to(dtype);
  }
  Operands slice(const Segments& queries, const Segments& sources, int64_t s) const {
    Operands one = *this;
    one.q = q.narrow(2, queries.begin(s), queries.size(s));
    one.m = m.narrow(2, sources.begin(s), sources.size(s));
    return one;
  }
  at::Tensor projected() const { return at::matmul(m, basis.transpose(1, 2)).to(at::kDouble); }
};

// Equations 3 and 4: `mean` is H, [B, H, N or 1, R] float64.
at::Tensor read(const Operands& x, const at::Tensor& mean_in) {
  const at::Tensor mean = mean_in.to(x.q.scalar_type());
  const at::Tensor scores = at::matmul(x.q, x.basis.transpose(1, 2)) * mean * x.scale;
  return at::matmul(at::softmax(scores, -1) * mean, x.basis);
}

at::Tensor full(const Operands& x) {
  const c10::SymInt sources = x.m.sym_size(2);
  // No sources: a mean of 0, and so zeros.
  return read(x, x.projected().sum(2, /*keepdim=*/true) / at::Scalar(sources > 0 ? sources : c10::SymInt(1)));
}

struct State {
  at::Tensor closed, open, count;
};

at::Tensor causal(const Operands& x, const State* state, State* after) {
  const c10::SymInt rows = x.q.sym_size(2);
  const auto index = x.q.options().dtype(at::kLong);
  const at::Tensor z = x.projected();
  at::Tensor sums = at::cumsum(z, 2);
  at::Tensor counts = at::arange(1, rows + 1, index).view_symint({1, 1, rows, 1});
  if (state) {
    sums = sums + (state->closed + state->open).unsqueeze(2);
    counts = counts + state->count.view({-1, 1, 1, 1});
  }
  if (after) {
    // Rows before `border` belong to chunks that are complete after this call.
    const at::Tensor total = state->count + at::Scalar(rows);
    const at::Tensor border = at::floor_divide(total, kernels::kMemoryChunk) * kernels::kMemoryChunk - state->count;
    const at::Tensor complete = (border > 0).view({-1, 1, 1});
    const at::Tensor before = (at::arange(rows, index).unsqueeze(0) < border.unsqueeze(1)).unsqueeze(1).unsqueeze(3);
    after->closed = state->closed + state->open.masked_fill(complete.logical_not(), 0) +
                    z.masked_fill(before.logical_not(), 0).sum(2);
    after->open = state->open.masked_fill(complete, 0) + z.masked_fill(before, 0).sum(2);
    after->count = total;
  }
  return read(x, sums / counts);
}

at::Tensor finish(const at::Tensor& out, const at::Tensor& q) { return with_layout(out.to(q.scalar_type()), q); }

}  // namespace

at::Tensor composed(const at::Tensor& q, const at::Tensor& m, const at::Tensor& basis, std::string_view form_name,
                    double scale, const OptionalTensor& cu_seqlens, const OptionalTensor& cu_seqlens_source) {
  const Form form = parse_form(form_name);
  check<c10::SymInt>(q, m, basis, form, cu_seqlens, cu_seqlens_source);
  const Operands all(q, m, basis, scale);
  const auto run = [&](const Operands& x) { return form == Form::causal ? causal(x, nullptr, nullptr) : full(x); };
  if (!cu_seqlens) return finish(run(all), q);
  const Borders queries = load_borders(kOp, "cu_seqlens", cu_seqlens, 1, q.size(2));
  const Borders sources =
      cu_seqlens_source ? load_borders(kOp, "cu_seqlens_source", cu_seqlens_source, 1, m.size(2)) : queries;
  if (queries.sequences == 0) return finish(run(all), q);
  std::vector<at::Tensor> outs;
  for (int64_t s = 0; s < queries.sequences; ++s) outs.push_back(run(all.slice(queries.segments, sources.segments, s)));
  return finish(at::cat(outs, 2), q);
}

Tensors4 composed_extend(const at::Tensor& q, const at::Tensor& m, const at::Tensor& basis, const at::Tensor& closed,
                         const at::Tensor& open, const at::Tensor& count, double scale,
                         const OptionalTensor& cu_seqlens) {
  check_extend<c10::SymInt>(q, m, basis, closed, open, count, cu_seqlens);
  check_count_values(count);
  const Operands all(q, m, basis, scale);
  const State state{closed, open, count};
  if (!cu_seqlens) {
    State after;
    const at::Tensor out = causal(all, &state, &after);
    return {finish(out, q), after.closed, after.open, after.count};
  }
  const Borders rows = load_borders(kExtend, "cu_seqlens", cu_seqlens, 1, q.size(2));
  if (rows.sequences == 0)  // no rows and no streams; the copies because a result may not be an input
    return {finish(causal(all, nullptr, nullptr), q), closed.clone(), open.clone(), count.clone()};
  std::vector<at::Tensor> outs, closeds, opens, counts;
  for (int64_t s = 0; s < rows.sequences; ++s) {
    const State before{closed.narrow(0, s, 1), open.narrow(0, s, 1), count.narrow(0, s, 1)};
    State after;
    outs.push_back(causal(all.slice(rows.segments, rows.segments, s), &before, &after));
    closeds.push_back(after.closed);
    opens.push_back(after.open);
    counts.push_back(after.count);
  }
  return {finish(at::cat(outs, 2), q), at::cat(closeds), at::cat(opens), at::cat(counts)};
}

}  // namespace longspan::ops::memory
