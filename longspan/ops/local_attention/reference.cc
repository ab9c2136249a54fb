#include "longspan/ops/local_attention/reference.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/repeat_interleave.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

#include <limits>
#include <vector>

#include "longspan/ops/common/load_dropout.h"
#include "longspan/ops/common/rows.h"
#include "longspan/ops/local_attention/band_products.h"
#include "longspan/ops/local_attention/check.h"

namespace longspan::ops::local {
namespace {

// Batch rows of sequences of equal lengths, as many heads each.
struct Sequences {
  at::Tensor q, k, v;
  at::Tensor origin;  // [B, 2] int64 on the CPU: the argument dropout_origin
};

// What an absent dropout_origin stands for.
at::Tensor default_origin(int64_t sequences) {
  return at::stack({at::arange(sequences, at::kLong), at::zeros({sequences}, at::kLong)}, 1);
}

// 1 / (1 - probability) where dropout keeps a weight, 0 where it does not: [B, H, N, M].
at::Tensor kept(const Dropout& dropout, const Sequences& x) {
  const int64_t batch = x.q.size(0), heads = x.q.size(1), queries = x.q.size(2), keys = x.k.size(2);
  const at::Tensor factors = at::empty({batch, heads, queries, keys}, at::kDouble);
  double* factor = factors.mutable_data_ptr<double>();
  for (int64_t b = 0; b < batch; ++b) {
    const int64_t row = x.origin[b][0].item<int64_t>(), start = x.origin[b][1].item<int64_t>();
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t i = keys - queries; i < keys; ++i)
        for (int64_t j = 0; j < keys; ++j)
          *factor++ = dropout.keeps(row, h, start + i, start + j) ? dropout.scale() : 0;
  }
  return factors.to(x.q.options());
}

Outputs attend(const Sequences& x, const OptionalTensor& table, const Options& o, double scale,
               const Dropout& dropout) {
  const c10::SymInt queries = x.q.sym_size(2), keys = x.k.sym_size(2);
  const auto index = x.q.options().dtype(at::kLong);
  const at::Tensor position = at::arange(keys - queries, keys, index).unsqueeze(1);
  const at::Tensor offset = at::arange(keys, index).unsqueeze(0) - position;  // [N, M]: j - p
  const at::Tensor outside = (offset < -o.reach_left).logical_or(offset > o.reach_right);
  const Band band{keys - queries - keys.min(o.reach_left), keys - queries + keys.min(o.reach_right) + 1};
  OptionalTensor bias;
  if (table) {
    const int64_t centre = (table->sym_size(1).guard_int(__FILE__, __LINE__) - 1) / 2;
    const at::Tensor entry = (offset.clamp(-centre, centre) + centre).reshape(-1);
    bias = table->index_select(1, entry).view_symint({table->sym_size(0), 1, queries, keys});
  }
  // Every head is a group of its own.
  const Scores scores = band_scores(x.q.unsqueeze(2) * scale, x.k, bias, outside, band);
  const at::Tensor empty = scores.lse == -std::numeric_limits<double>::infinity();
  at::Tensor p = at::softmax(scores.values, -1).masked_fill(outside.logical_or(empty), 0);
  if (dropout.active()) p = p * kept(dropout, x).unsqueeze(2);
  return {band_mix(p, x.v, band).masked_fill(empty, 0).squeeze(2), scores.lse.squeeze(-1).squeeze(2)};
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
  at::Tensor origin;
  if (dropout.active())
    origin = o.dropout_origin ? o.dropout_origin->to(at::kCPU)
                              : default_origin(o.cu_seqlens ? o.cu_seqlens->size(0) - 1 : x.q.size(0));
  const Sequences all{x.q.to(dtype), for_each_head(x.k), for_each_head(x.v), origin};
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
    const Sequences one{all.q.narrow(2, queries.segments.begin(i), queries.segments.size(i)),
                        all.k.narrow(2, begin, size), all.v.narrow(2, begin, size),
                        origin.defined() ? origin.narrow(0, i, 1) : origin};
    const auto [out, lse] = attend(one, table, o, factor, dropout);
    outs.push_back(out);
    lses.push_back(lse);
  }
  return finish(at::cat(outs, 2), at::cat(lses, 2));
}

}  // namespace longspan::ops::local
