// Shape and option rules of local_attention, written once for kernels, composed form and meta functions.
#pragma once

#include <algorithm>
#include <cmath>

#include "longspan/ops/common/backend.h"
#include "longspan/ops/common/check.h"
#include "longspan/ops/common/rows.h"
#include "longspan/ops/local_attention/dispatch.h"

namespace longspan::ops::local {

inline constexpr const char* kOp = "local_attention";

template <class Int>
struct Shape {
  Int batch, heads, key_heads, queries, keys, width, value_width;
};

/// Of the operands q, k and v.
template <class Int>
Shape<Int> check_operands(const Inputs& x) {
  check_dims(kOp, "q", x.q, 4, "[B, H, N, D]");
  check_dims(kOp, "k", x.k, 4, "[B, Hk, M, D]");
  check_dims(kOp, "v", x.v, 4, "[B, Hk, M, Dv]");
  check_floating(kOp, "q", x.q);
  check_same_kind(kOp, "k", x.k, x.q);
  check_same_kind(kOp, "v", x.v, x.q);
  const auto qs = sizes_of<Int>(x.q), ks = sizes_of<Int>(x.k), vs = sizes_of<Int>(x.v);
  const Shape<Int> s{qs[0], qs[1], ks[1], qs[2], ks[2], qs[3], vs[3]};
  TORCH_CHECK_VALUE(s.width >= 1, kOp, ": q: expected a width D of 1 or more, got ", x.q.sym_sizes());
  TORCH_CHECK_VALUE(ks[0] == s.batch && ks[3] == s.width, kOp, ": k: expected [B = ", s.batch, ", Hk, M, D = ", s.width,
                    "], got ", x.k.sym_sizes());
  check_groups<Int>(kOp, "k", "Hk", x.k, s.heads);
  TORCH_CHECK_VALUE(vs[0] == s.batch && vs[1] == s.key_heads && vs[2] == s.keys, kOp, ": v: expected [B = ", s.batch,
                    ", Hk = ", s.key_heads, ", M = ", s.keys, ", Dv], got ", x.v.sym_sizes());
  TORCH_CHECK_VALUE(s.value_width >= 1, kOp, ": v: expected a width Dv of 1 or more, got ", x.v.sym_sizes());
  return s;
}

template <class Int>
void check_table(const Inputs& x, const Options& o, const Int& heads) {
  check_dims(kOp, "table", *x.table, 2, "[H, 2c + 1] or [1, 2c + 1]");
  check_same_or_float32(kOp, "table", *x.table, x.q);
  const auto ts = sizes_of<Int>(*x.table);
  TORCH_CHECK_VALUE(ts[0] == 1 || ts[0] == heads, kOp, ": table: expected [H = ", heads,
                    ", 2c + 1] or [1, 2c + 1], got ", x.table->sym_sizes());
  const int64_t reach = std::max(o.reach_left, o.reach_right);
  TORCH_CHECK_VALUE(ts[1] % 2 == 1 && (ts[1] - 1) / 2 >= reach, kOp,
                    ": table: expected 2c + 1 entries with c >= ", reach, ", the longer reach, got ", ts[1]);
}

template <class Int>
void check_packing(const Inputs& x, const Options& o, const Shape<Int>& s) {
  if (!o.cu_seqlens) {
    TORCH_CHECK_VALUE(!o.cu_seqlens_k, kOp, ": cu_seqlens: expected together with cu_seqlens_k, got none");
    TORCH_CHECK_VALUE(s.queries <= s.keys, kOp, ": k: expected at least as many rows as q, ", s.queries, ", got ",
                      s.keys);
    return;
  }
  check_borders_shape<Int>(kOp, "cu_seqlens", *o.cu_seqlens, x.q);
  if (!o.cu_seqlens_k) {
    TORCH_CHECK_VALUE(s.queries == s.keys, kOp, ": cu_seqlens_k: expected, since q has ", s.queries, " rows and k ",
                      s.keys, ", got none");
    return;
  }
  check_borders_shape<Int>(kOp, "cu_seqlens_k", *o.cu_seqlens_k, x.q);
  TORCH_CHECK_VALUE(sizes_of<Int>(*o.cu_seqlens_k)[0] == sizes_of<Int>(*o.cu_seqlens)[0], kOp,
                    ": cu_seqlens_k: expected as many borders as cu_seqlens, ", o.cu_seqlens->sym_sizes(), ", got ",
                    o.cu_seqlens_k->sym_sizes());
}

template <class Int>
Shape<Int> check(const Inputs& x, const Options& o) {
  const auto s = check_operands<Int>(x);
  TORCH_CHECK_VALUE(o.reach_left >= 0, kOp, ": reach_left: expected 0 or more, got ", o.reach_left);
  TORCH_CHECK_VALUE(o.reach_right >= 0, kOp, ": reach_right: expected 0 or more, got ", o.reach_right);
  if (o.scale) check_finite(kOp, "scale", *o.scale);
  if (x.table) check_table<Int>(x, o, s.heads);
  check_packing(x, o, s);
  check_dropout(kOp, o.dropout, o.dropout_seed, x.q);
  if (o.dropout_origin)
    check_dropout_origin<Int>(kOp, *o.dropout_origin, o.cu_seqlens ? Int(sizes_of<Int>(*o.cu_seqlens)[0] - 1) : s.batch,
                              x.q);
  return s;
}

inline at::ScalarType out_dtype(const at::Tensor& q, const Options& o) {
  return o.float32_out ? sum_dtype(q) : q.scalar_type();
}

/// The results of a forward pass and the gradient of `out`, given back to the backward pass.
inline void check_backward(const at::Tensor& dout, const Inputs& x, const at::Tensor& out, const at::Tensor& lse) {
  const auto check_shape = [&](const char* name, const at::Tensor& t, bool fits) {
    TORCH_CHECK_VALUE(fits, kOp, ": ", name, ": expected the shape of the forward result for q ", x.q.sym_sizes(),
                      " and v ", x.v.sym_sizes(), ", got ", t.sym_sizes());
  };
  const auto rows_of_q = [&](const at::Tensor& t) {
    return t.sym_size(0) == x.q.sym_size(0) && t.sym_size(1) == x.q.sym_size(1) && t.sym_size(2) == x.q.sym_size(2);
  };
  const auto like_out = [&](const at::Tensor& t) {
    return t.dim() == 4 && rows_of_q(t) && t.sym_size(3) == x.v.sym_size(3);
  };
  check_same_or_float32(kOp, "out", out, x.q);
  check_shape("out", out, like_out(out));
  check_same_kind(kOp, "dout", dout, out, "out");
  check_shape("dout", dout, like_out(dout));
  TORCH_CHECK_VALUE(lse.scalar_type() == sum_dtype(x.q), kOp, ": lse: expected ",
                    c10::getDtypeNames(sum_dtype(x.q)).first, ", got ", dtype_name(lse));
  check_same_device(kOp, "lse", lse, x.q);
  check_shape("lse", lse, lse.dim() == 3 && rows_of_q(lse));
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
