// Shape and option rules of diffusion, written once for kernels, forms in ATen and meta functions.
#pragma once

#include <ATen/ops/empty.h>

#include <cmath>
#include <initializer_list>

#include "longspan/ops/common/backend.h"
#include "longspan/ops/common/check.h"
#include "longspan/ops/diffusion/dispatch.h"

namespace longspan::ops::diffuse {

template <class Int>
struct Shape {
  Int batch, heads, key_heads;
  Int rows;  ///< N: of q and v
  Int keys;  ///< M: of k; N but in a stream
  Int width, value_width;
  Int hops;
  Int sequences;  ///< batch rows, or packed sequences
};

inline void check_choice(const char* op, const char* name, std::string_view value,
                         std::initializer_list<std::string_view> choices) {
  std::string list;
  std::size_t left = choices.size();
  for (const std::string_view choice : choices) {
    if (choice == value) return;
    list += choice;
    if (--left > 0) list += left == 1 ? " or " : ", ";
  }
  TORCH_CHECK_VALUE(false, op, ": ", name, ": expected ", list, ", got ", value);
}

/// Of the operands. In a stream k has more rows than q and v.
template <class Int>
Shape<Int> check_operands(const char* op, const Inputs& x, bool stream) {
  check_dims(op, "q", x.q, 4, "[B, H, N, D]");
  check_dims(op, "k", x.k, 4, stream ? "[B, Hk, M, D]" : "[B, Hk, N, D]");
  check_dims(op, "v", x.v, 4, "[B, Hk, N, Dv]");
  check_floating(op, "q", x.q);
  check_same_kind(op, "k", x.k, x.q);
  check_same_kind(op, "v", x.v, x.q);
  const auto qs = sizes_of<Int>(x.q), ks = sizes_of<Int>(x.k), vs = sizes_of<Int>(x.v);
  Shape<Int> s{qs[0], qs[1], ks[1], qs[2], ks[2], qs[3], vs[3], Int(0), qs[0]};
  TORCH_CHECK_VALUE(s.width >= 1, op, ": q: expected a width D of 1 or more, got ", x.q.sym_sizes());
  if (stream) {
    TORCH_CHECK_VALUE(ks[0] == s.batch && s.keys >= s.rows && ks[3] == s.width, op, ": k: expected [B = ", s.batch,
                      ", Hk, M >= ", s.rows, ", D = ", s.width, "], got ", x.k.sym_sizes());
  } else {
    TORCH_CHECK_VALUE(ks[0] == s.batch && s.keys == s.rows && ks[3] == s.width, op, ": k: expected [B = ", s.batch,
                      ", Hk, N = ", s.rows, ", D = ", s.width, "], got ", x.k.sym_sizes());
  }
  check_groups<Int>(op, "k", "Hk", x.k, s.heads);
  TORCH_CHECK_VALUE(vs[0] == s.batch && vs[1] == s.key_heads && vs[2] == s.rows, op, ": v: expected [B = ", s.batch,
                    ", Hk = ", s.key_heads, ", N = ", s.rows, ", Dv], got ", x.v.sym_sizes());
  TORCH_CHECK_VALUE(s.value_width >= 1, op, ": v: expected a width Dv of 1 or more, got ", x.v.sym_sizes());

  const at::Tensor& c = x.coefficients;
  check_dims(op, "coefficients", c, 2, "[H, 2 K + 1] or [1, 2 K + 1]");
  const auto cs = sizes_of<Int>(c);
  TORCH_CHECK_VALUE((cs[0] == 1 || cs[0] == s.heads) && cs[1] % 2 == 1, op, ": coefficients: expected [H = ", s.heads,
                    ", 2 K + 1] or [1, 2 K + 1], got ", c.sym_sizes());
  TORCH_CHECK_VALUE(c.scalar_type() == sum_dtype(x.q), op, ": coefficients: expected ",
                    c10::getDtypeNames(sum_dtype(x.q)).first, " beside operands of ", dtype_name(x.q), ", got ",
                    dtype_name(c));
  check_same_device(op, "coefficients", c, x.q);
  s.hops = (cs[1] - 1) / 2;
  return s;
}

/// What can be said without reading a pattern; patterns.h reads them. A pattern without values is for operands without
/// values alone: beside others the meta function would run and leave the results as the allocator gives them.
template <class Int>
void check_patterns(const char* op, const Patterns& patterns, const at::Tensor& q, const Int& sequences) {
  const auto placed = [&](const at::Tensor& t) { return t.is_cpu() || (t.is_meta() && q.is_meta()); };
  TORCH_CHECK_VALUE(!patterns.patterns.empty(), op, ": patterns: expected one or more, got none");
  for (const at::Tensor& t : patterns.patterns) {
    TORCH_CHECK_VALUE(t.dim() == 1 && t.scalar_type() == at::kInt && placed(t), op,
                      ": patterns: expected int32 [L] on the CPU as longspan::pattern makes it, got ", dtype_name(t),
                      " ", t.sym_sizes(), " on ", t.device());
  }
  if (!patterns.pattern_of) {
    TORCH_CHECK_VALUE(patterns.patterns.size() == 1, op, ": pattern_of: expected with ", patterns.patterns.size(),
                      " patterns, got none");
    return;
  }
  const at::Tensor& of = *patterns.pattern_of;
  TORCH_CHECK_VALUE(of.dim() == 1 && sizes_of<Int>(of)[0] == sequences, op, ": pattern_of: expected [S = ", sequences,
                    "], got ", of.sym_sizes());
  TORCH_CHECK_VALUE(of.scalar_type() == at::kLong && placed(of), op, ": pattern_of: expected int64 on the CPU, got ",
                    dtype_name(of), " on ", of.device());
}

template <class Int>
void check_options(const char* op, const Inputs& x, const Options& o, const Shape<Int>& s) {
  if (o.scale) check_finite(op, "scale", *o.scale);
  check_choice(op, "padding", o.padding, {"remove", "reference"});
  check_choice(op, "dropout_mode", o.dropout_mode, {"once", "per_hop"});
  check_choice(op, "backward", o.backward, {"recompute_slices", "store_all", "recompute_quadratic"});
  check_choice(op, "edge_weights", o.edge_weights, {"stored", "recomputed"});
  check_dropout(op, o.attention_dropout, o.dropout_seed, x.q, "attention_dropout");
  check_dropout(op, o.hop_dropout, o.dropout_seed, x.q, "hop_dropout");
  if (o.dropout_origin) check_dropout_origin<Int>(op, *o.dropout_origin, s.sequences, x.q);
}

template <class Int>
Shape<Int> check(const Inputs& x, const Patterns& patterns, const Options& o) {
  Shape<Int> s = check_operands<Int>(kOp, x, /*stream=*/false);
  if (o.cu_seqlens) {
    check_borders_shape<Int>(kOp, "cu_seqlens", *o.cu_seqlens, x.q);
    s.sequences = sizes_of<Int>(*o.cu_seqlens)[0] - 1;
  }
  if (o.valid) {
    TORCH_CHECK_VALUE(!o.cu_seqlens, kOp, ": valid: expected none together with cu_seqlens, got one");
    TORCH_CHECK_VALUE(
        o.valid->dim() == 2 && sizes_of<Int>(*o.valid)[0] == s.batch && sizes_of<Int>(*o.valid)[1] == s.rows, kOp,
        ": valid: expected [B = ", s.batch, ", N = ", s.rows, "], got ", o.valid->sym_sizes());
    TORCH_CHECK_VALUE(o.valid->scalar_type() == at::kBool, kOp, ": valid: expected bool, got ", dtype_name(*o.valid));
    check_same_device(kOp, "valid", *o.valid, x.q);
  }
  check_patterns<Int>(kOp, patterns, x.q, s.sequences);
  check_options<Int>(kOp, x, o, s);
  return s;
}

template <class Int>
Shape<Int> check_extend(const Inputs& x, const Past& past, const Patterns& patterns, const Options& o) {
  const Shape<Int> s = check_operands<Int>(kExtendOp, x, /*stream=*/true);
  const at::Tensor& states = past.states;
  const Int before = s.keys - s.rows;
  check_dims(kExtendOp, "states", states, 5, "[B, H, K, P, Dv]");
  const auto ss = sizes_of<Int>(states);
  TORCH_CHECK_VALUE(
      ss[0] == s.batch && ss[1] == s.heads && ss[2] == s.hops && ss[3] == before && ss[4] == s.value_width, kExtendOp,
      ": states: expected [B = ", s.batch, ", H = ", s.heads, ", K = ", s.hops, ", P = ", before,
      ", Dv = ", s.value_width, "], got ", states.sym_sizes());
  check_same_kind(kExtendOp, "states", states, x.coefficients, "coefficients");
  if (past.positions) {
    TORCH_CHECK_VALUE(past.positions->dim() == 1 && sizes_of<Int>(*past.positions)[0] == s.keys, kExtendOp,
                      ": positions: expected [M = ", s.keys, "], got ", past.positions->sym_sizes());
    TORCH_CHECK_VALUE(past.positions->scalar_type() == at::kLong, kExtendOp, ": positions: expected int64, got ",
                      dtype_name(*past.positions));
    check_on_cpu_or_beside(kExtendOp, "positions", *past.positions, x.q);
  }
  check_patterns<Int>(kExtendOp, patterns, x.q, s.sequences);
  check_options<Int>(kExtendOp, x, o, s);
  return s;
}

/// The results of a forward pass and the gradients of its results, given back to the backward pass. `s`: of check().
template <class Int>
void check_result(const char* op, const char* name, const at::Tensor& t, c10::ArrayRef<Int> sizes, at::ScalarType dtype,
                  const at::Tensor& q) {
  TORCH_CHECK_VALUE(sizes_of<Int>(t).equals(sizes), op, ": ", name, ": expected ", sizes,
                    " as the forward result, got ", t.sym_sizes());
  TORCH_CHECK_VALUE(t.scalar_type() == dtype, op, ": ", name, ": expected ", c10::getDtypeNames(dtype).first, ", got ",
                    dtype_name(t));
  check_same_device(op, name, t, q);
}
template <class Int>
void check_backward(const Shape<Int>& s, const at::Tensor& dout, const Inputs& x) {
  check_result<Int>(kOp, "dout", dout, {s.batch, s.heads, s.rows, s.value_width}, x.q.scalar_type(), x.q);
}
template <class Int>
void check_extend_backward(const Shape<Int>& s, const ExtendedGradients& gradients, const Inputs& x,
                           const at::Tensor& new_states) {
  const auto states = [&](const char* name, const at::Tensor& t) {
    check_result<Int>(kExtendOp, name, t, {s.batch, s.heads, s.hops, s.rows, s.value_width}, sum_dtype(x.q), x.q);
  };
  if (gradients.out)
    check_result<Int>(kExtendOp, "dout", *gradients.out, {s.batch, s.heads, s.rows, s.value_width}, x.q.scalar_type(),
                      x.q);
  if (gradients.states) states("dnew_states", *gradients.states);
  states("new_states", new_states);
}

/// What stands for weights or states that are not kept, and whether a result is that.
inline at::Tensor none(const Inputs& x) { return at::empty({0}, x.q.options().dtype(sum_dtype(x.q))); }
inline bool is_none(const at::Tensor& t) { return t.dim() == 1 && t.sym_size(0) == 0; }

inline double default_scale(int64_t width) { return 1 / std::sqrt(static_cast<double>(width)); }

}  // namespace longspan::ops::diffuse
