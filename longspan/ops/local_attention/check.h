// Shape and option rules of local_attention, written once for kernels, composed form and meta functions.
#pragma once

#include <algorithm>
#include <cmath>

#include "longspan/ops/common/backend.h"
#include "longspan/ops/common/check.h"
#include "longspan/ops/common/rows.h"

namespace longspan::ops::local {

inline constexpr const char* kOp = "local_attention";

template <class Int>
struct Shape {
  Int batch, heads, queries, keys, width, value_width;
  Int table_heads = 0, table_size = 0;  ///< 0 without a table
};

template <class Int>
Shape<Int> check(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const std::optional<at::Tensor>& table,
                 int64_t reach_left, int64_t reach_right, const std::optional<at::Tensor>& cu_seqlens,
                 const std::optional<at::Tensor>& cu_seqlens_k) {
  check_dims(kOp, "q", q, 4, "[B, H, N, D]");
  check_dims(kOp, "k", k, 4, "[B, H, M, D]");
  check_dims(kOp, "v", v, 4, "[B, H, M, Dv]");
  check_floating(kOp, "q", q);
  check_same_kind(kOp, "k", k, q);
  check_same_kind(kOp, "v", v, q);
  const auto qs = sizes_of<Int>(q), ks = sizes_of<Int>(k), vs = sizes_of<Int>(v);
  Shape<Int> s{qs[0], qs[1], qs[2], ks[2], qs[3], vs[3]};
  TORCH_CHECK_VALUE(s.width >= 1, kOp, ": q: expected a width D of 1 or more, got ", q.sym_sizes());
  TORCH_CHECK_VALUE(ks[0] == s.batch && ks[1] == s.heads && ks[3] == s.width, kOp, ": k: expected [B = ", s.batch,
                    ", H = ", s.heads, ", M, D = ", s.width, "], got ", k.sym_sizes());
  TORCH_CHECK_VALUE(vs[0] == s.batch && vs[1] == s.heads && vs[2] == s.keys, kOp, ": v: expected [B = ", s.batch,
                    ", H = ", s.heads, ", M = ", s.keys, ", Dv], got ", v.sym_sizes());
  TORCH_CHECK_VALUE(s.value_width >= 1, kOp, ": v: expected a width Dv of 1 or more, got ", v.sym_sizes());
  TORCH_CHECK_VALUE(reach_left >= 0, kOp, ": reach_left: expected 0 or more, got ", reach_left);
  TORCH_CHECK_VALUE(reach_right >= 0, kOp, ": reach_right: expected 0 or more, got ", reach_right);
  if (table) {
    check_dims(kOp, "table", *table, 2, "[H, 2c + 1] or [1, 2c + 1]");
    check_same_kind(kOp, "table", *table, q);
    const auto ts = sizes_of<Int>(*table);
    TORCH_CHECK_VALUE(ts[0] == 1 || ts[0] == s.heads, kOp, ": table: expected [H = ", s.heads,
                      ", 2c + 1] or [1, 2c + 1], got ", table->sym_sizes());
    const int64_t reach = std::max(reach_left, reach_right);
    TORCH_CHECK_VALUE(ts[1] % 2 == 1 && (ts[1] - 1) / 2 >= reach, kOp,
                      ": table: expected 2c + 1 entries with c >= ", reach, ", the longer reach, got ", ts[1]);
    s.table_heads = ts[0];
    s.table_size = ts[1];
  }
  if (cu_seqlens) {
    check_borders_shape<Int>(kOp, "cu_seqlens", *cu_seqlens, q);
    TORCH_CHECK_VALUE(cu_seqlens_k || s.queries == s.keys, kOp, ": cu_seqlens_k: expected, since q has ", s.queries,
                      " rows and k ", s.keys);
  } else {
    TORCH_CHECK_VALUE(s.queries <= s.keys, kOp, ": k: expected at least as many rows as q, ", s.queries, ", got ",
                      s.keys);
  }
  if (cu_seqlens_k) {
    TORCH_CHECK_VALUE(cu_seqlens, kOp, ": cu_seqlens: expected together with cu_seqlens_k");
    check_borders_shape<Int>(kOp, "cu_seqlens_k", *cu_seqlens_k, q);
    TORCH_CHECK_VALUE(sizes_of<Int>(*cu_seqlens_k)[0] == sizes_of<Int>(*cu_seqlens)[0], kOp,
                      ": cu_seqlens_k: expected as many borders as cu_seqlens, ", cu_seqlens->sym_sizes(), ", got ",
                      cu_seqlens_k->sym_sizes());
  }
  return s;
}

/// The results of a forward pass and the gradient of `out`, given back to the backward pass.
inline void check_backward(const at::Tensor& dout, const at::Tensor& q, const at::Tensor& v, const at::Tensor& out,
                           const at::Tensor& lse) {
  const auto check_one = [&](const char* name, const at::Tensor& t, bool fits) {
    check_same_kind(kOp, name, t, q);
    TORCH_CHECK_VALUE(fits, kOp, ": ", name, ": expected the shape of the forward result for q ", q.sym_sizes(),
                      " and v ", v.sym_sizes(), ", got ", t.sym_sizes());
  };
  const auto like_out = [&](const at::Tensor& t) {
    return t.dim() == 4 && t.sym_size(0) == q.sym_size(0) && t.sym_size(1) == q.sym_size(1) &&
           t.sym_size(2) == q.sym_size(2) && t.sym_size(3) == v.sym_size(3);
  };
  check_one("out", out, like_out(out));
  check_one("dout", dout, like_out(dout));
  check_one("lse", lse,
            lse.dim() == 3 && lse.sym_size(0) == q.sym_size(0) && lse.sym_size(1) == q.sym_size(1) &&
                lse.sym_size(2) == q.sym_size(2));
}

/// Every sequence has as many keys as queries or more: its queries are the last ones.
inline void check_row_counts(const Borders& queries, const Borders& keys) {
  for (int64_t s = 0; s < queries.sequences; ++s)
    TORCH_CHECK_VALUE(queries.segments.size(s) <= keys.segments.size(s), kOp, ": cu_seqlens_k: expected at least ",
                      queries.segments.size(s), " keys in sequence ", s, ", as many as it has queries, got ",
                      keys.segments.size(s));
}

inline double default_scale(int64_t width) { return 1 / std::sqrt(static_cast<double>(width)); }

}  // namespace longspan::ops::local
