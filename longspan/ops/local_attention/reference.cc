#include "longspan/ops/local_attention/reference.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/softmax.h>

#include <limits>
#include <vector>

#include "longspan/ops/common/rows.h"
#include "longspan/ops/local_attention/check.h"

namespace longspan::ops::local {
namespace {

struct Sequence {
  at::Tensor q, k, v;
};

std::tuple<at::Tensor, at::Tensor> attend(const Sequence& x, const OptionalTensor& table, int64_t reach_left,
                                          int64_t reach_right, double scale) {
  const c10::SymInt queries = x.q.sym_size(2), keys = x.k.sym_size(2);
  const auto index = x.q.options().dtype(at::kLong);
  const at::Tensor position = at::arange(keys - queries, keys, index).unsqueeze(1);
  const at::Tensor offset = at::arange(keys, index).unsqueeze(0) - position;  // [N, M]: j - p
  const at::Tensor outside = (offset < -reach_left).logical_or(offset > reach_right);
  at::Tensor scores = at::matmul(x.q, x.k.transpose(2, 3)) * scale;
  if (table) {
    const int64_t centre = (table->sym_size(1).guard_int(__FILE__, __LINE__) - 1) / 2;
    const at::Tensor entry = (offset.clamp(-centre, centre) + centre).reshape(-1);
    scores = scores + table->index_select(1, entry).view_symint({table->sym_size(0), queries, keys});
  }
  scores = scores.masked_fill(outside, -std::numeric_limits<double>::infinity());
  const at::Tensor p = at::softmax(scores, -1).masked_fill(outside, 0);
  return {at::matmul(p, x.v), at::logsumexp(scores.detach(), -1)};
}

}  // namespace

std::tuple<at::Tensor, at::Tensor> composed(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                            const OptionalTensor& table, int64_t reach_left, int64_t reach_right,
                                            std::optional<double> scale, const OptionalTensor& cu_seqlens,
                                            const OptionalTensor& cu_seqlens_k) {
  check<c10::SymInt>(q, k, v, table, reach_left, reach_right, cu_seqlens, cu_seqlens_k);
  const auto dtype = q.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const double factor = scale.value_or(default_scale(q.sym_size(3).guard_int(__FILE__, __LINE__)));
  const OptionalTensor wide_table = table ? OptionalTensor(table->to(dtype)) : std::nullopt;
  const Sequence all{q.to(dtype), k.to(dtype), v.to(dtype)};
  const auto finish = [&](const at::Tensor& out, const at::Tensor& lse) {
    return std::make_tuple(with_layout(out.to(q.scalar_type()), q), lse);
  };
  const auto whole = [&] {
    const auto [out, lse] = attend(all, wide_table, reach_left, reach_right, factor);
    return finish(out, lse);
  };
  if (!cu_seqlens) return whole();
  const Borders queries = load_borders(kOp, "cu_seqlens", cu_seqlens, 1, q.size(2));
  const Borders keys = cu_seqlens_k ? load_borders(kOp, "cu_seqlens_k", cu_seqlens_k, 1, k.size(2)) : queries;
  check_row_counts(queries, keys);
  if (queries.sequences == 0) return whole();  // no rows
  std::vector<at::Tensor> outs, lses;
  for (int64_t s = 0; s < queries.sequences; ++s) {
    const int64_t begin = keys.segments.begin(s), size = keys.segments.size(s);
    const Sequence one{all.q.narrow(2, queries.segments.begin(s), queries.segments.size(s)),
                       all.k.narrow(2, begin, size), all.v.narrow(2, begin, size)};
    const auto [out, lse] = attend(one, wide_table, reach_left, reach_right, factor);
    outs.push_back(out);
    lses.push_back(lse);
  }
  return finish(at::cat(outs, 2), at::cat(lses, 2));
}

}  // namespace longspan::ops::local
