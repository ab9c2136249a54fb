#include "longspan/ops/local_attention/reference.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/repeat_interleave.h>
#include <ATen/ops/softmax.h>

#include <limits>
#include <vector>

#include "longspan/ops/common/load_dropout.h"
#include "longspan/ops/common/rows.h"
#include "longspan/ops/local_attention/check.h"

namespace longspan::ops::local {
namespace {

struct Sequence {
  at::Tensor q, k, v;     // as many heads each
  int64_t first_row = 0;  // of dropout: batch rows count from here
};

// 1 / (1 - probability) where dropout keeps a weight, 0 where it does not: [B, H, N, M].
at::Tensor kept(const Dropout& dropout, const Sequence& x) {
  const int64_t batch = x.q.size(0), heads = x.q.size(1), queries = x.q.size(2), keys = x.k.size(2);
  const at::Tensor factors = at::empty({batch, heads, queries, keys}, at::kDouble);
  double* factor = factors.mutable_data_ptr<double>();
  const auto word = [](int64_t value) { return static_cast<uint32_t>(value); };
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t i = keys - queries; i < keys; ++i)
        for (int64_t j = 0; j < keys; ++j)
          *factor++ = dropout.keeps(word(x.first_row + b), word(h), word(i), word(j)) ? dropout.scale() : 0;
  return factors.to(x.q.options());
}

Outputs attend(const Sequence& x, const OptionalTensor& table, const Options& o, double scale, const Dropout& dropout) {
  const c10::SymInt queries = x.q.sym_size(2), keys = x.k.sym_size(2);
  const auto index = x.q.options().dtype(at::kLong);
  const at::Tensor position = at::arange(keys - queries, keys, index).unsqueeze(1);
  const at::Tensor offset = at::arange(keys, index).unsqueeze(0) - position;  // [N, M]: j - p
  const at::Tensor outside = (offset < -o.reach_left).logical_or(offset > o.reach_right);
  at::Tensor scores = at::matmul(x.q, x.k.transpose(2, 3)) * scale;
  if (table) {
    const int64_t centre = (table->sym_size(1).guard_int(__FILE__, __LINE__) - 1) / 2;
    const at::Tensor entry = (offset.clamp(-centre, centre) + centre).reshape(-1);
    scores = scores + table->index_select(1, entry).view_symint({table->sym_size(0), queries, keys});
  }
  scores = scores.masked_fill(outside, -std::numeric_limits<double>::infinity());
  at::Tensor p = at::softmax(scores, -1).masked_fill(outside, 0);
  if (dropout.active()) p = p * kept(dropout, x);
  return {at::matmul(p, x.v), at::logsumexp(scores.detach(), -1)};
}

}  // namespace

Outputs reference(const Inputs& x, const Options& o) {
  const auto s = check<c10::SymInt>(x, o);
  const auto dtype = sum_dtype(x.q);
  const double factor = o.scale.value_or(default_scale(s.width.guard_int(__FILE__, __LINE__)));
  const Dropout dropout = load_dropout(o.dropout, o.dropout_seed);
  const OptionalTensor table = x.table ? OptionalTensor(x.table->to(dtype)) : std::nullopt;
  const auto for_each_head = [&](const at::Tensor& t) {
    const at::Tensor wide = t.to(dtype);
    return s.key_heads == s.heads ? wide : at::repeat_interleave_symint(wide, s.heads / s.key_heads, 1);
  };
  const Sequence all{x.q.to(dtype), for_each_head(x.k), for_each_head(x.v)};
  const auto finish = [&](const at::Tensor& out, const at::Tensor& lse) {
    return Outputs(with_layout(out.to(out_dtype(x.q, o)), x.q), lse);
  };
  const auto whole = [&] {
    const auto [out, lse] = attend(all, table, o, factor, dropout);
    return finish(out, lse);
  };
  if (!o.cu_seqlens) return whole();
  const Borders queries = load_borders(kOp, "cu_seqlens", o.cu_seqlens, 1, x.q.size(2));
  const Borders keys = o.cu_seqlens_k ? load_borders(kOp, "cu_seqlens_k", o.cu_seqlens_k, 1, x.k.size(2)) : queries;
  check_row_counts(queries, keys);
  if (queries.sequences == 0) return whole();  // no rows
  std::vector<at::Tensor> outs, lses;
  for (int64_t i = 0; i < queries.sequences; ++i) {
    const int64_t begin = keys.segments.begin(i), size = keys.segments.size(i);
    const Sequence one{all.q.narrow(2, queries.segments.begin(i), queries.segments.size(i)),
                       all.k.narrow(2, begin, size), all.v.narrow(2, begin, size), i};
    const auto [out, lse] = attend(one, table, o, factor, dropout);
    outs.push_back(out);
    lses.push_back(lse);
  }
  return finish(at::cat(outs, 2), at::cat(lses, 2));
}

}  // namespace longspan::ops::local
