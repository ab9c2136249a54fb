// Shape and option rules of orthogonal_memory and orthogonal_memory_extend, written once for kernels, composed form and
// meta functions.
#pragma once

#include "longspan/kernels/memory/memory.h"
#include "longspan/ops/common/backend.h"
#include "longspan/ops/common/check.h"
#include "longspan/ops/common/rows.h"
#include "longspan/ops/orthogonal_memory/dispatch.h"

namespace longspan::ops::memory {

inline constexpr const char* kOp = "orthogonal_memory";
inline constexpr const char* kExtend = "orthogonal_memory_extend";

enum class Form { causal, full };

inline Form parse_form(std::string_view form) {
  if (form == "causal") return Form::causal;
  TORCH_CHECK_VALUE(form == "full", kOp, ": form: expected causal or full, got ", form);
  return Form::full;
}

using kernels::Accumulator;

inline Accumulator parse_accumulator(const char* op, std::string_view name) {
  if (name == "float64") return Accumulator::float64;
  if (name == "float32") return Accumulator::float32;
  TORCH_CHECK_VALUE(name == "float32_compensated", op,
                    ": accumulator: expected float64, float32_compensated or float32, got ", name);
  return Accumulator::float32_compensated;
}

template <class Int>
struct Shape {
  Int batch, heads, feature_heads, queries, sources, width, slots;
};

template <class Int>
Shape<Int> check_inputs(const char* op, const Inputs& x, Form form, const Options& o) {
  check_dims(op, "q", x.q, 4, "[B, H, N, D]");
  check_dims(op, "m", x.m, 4, "[B, Hm, M, D]");
  check_dims(op, "basis", x.basis, 3, "[H, R, D] or [1, R, D]");
  check_floating(op, "q", x.q);
  check_same_or_float32(op, "m", x.m, x.q);
  check_same_or_float32(op, "basis", x.basis, x.q);
  const auto qs = sizes_of<Int>(x.q), ms = sizes_of<Int>(x.m), bs = sizes_of<Int>(x.basis);
  const Shape<Int> s{qs[0], qs[1], ms[1], qs[2], ms[2], qs[3], bs[1]};
  TORCH_CHECK_VALUE(s.width >= 1, op, ": q: expected a width D of 1 or more, got ", x.q.sym_sizes());
  TORCH_CHECK_VALUE(ms[0] == s.batch && ms[3] == s.width, op, ": m: expected [B = ", s.batch, ", Hm, M, D = ", s.width,
                    "], got ", x.m.sym_sizes());
  check_groups<Int>(op, "m", "Hm", x.m, s.heads);
  TORCH_CHECK_VALUE((bs[0] == 1 || bs[0] == s.heads) && s.slots >= 1 && bs[2] == s.width, op,
                    ": basis: expected [H = ", s.heads, ", R, D = ", s.width, "] or [1, R, D], R >= 1, got ",
                    x.basis.sym_sizes());
  TORCH_CHECK_VALUE(form == Form::full || s.sources == s.queries, op, ": m: expected as many rows as q, ", s.queries,
                    ", in the causal form, got ", s.sources);
  if (o.cu_seqlens) check_borders_shape<Int>(op, "cu_seqlens", *o.cu_seqlens, x.q);
  TORCH_CHECK_VALUE(o.window >= 0, op, ": window: expected 0 or more, got ", o.window);
  TORCH_CHECK_VALUE(form == Form::causal || o.window == 0, op, ": window: expected 0 in the form full, got ", o.window);
  check_finite(op, "scale", o.scale);
  parse_accumulator(op, o.accumulator);
  check_dropout(op, o.dropout, o.dropout_seed, x.q);
  return s;
}

template <class Int>
Shape<Int> check(const Inputs& x, Form form, const Options& o) {
  const auto s = check_inputs<Int>(kOp, x, form, o);
  TORCH_CHECK_VALUE(!o.cu_seqlens || o.cu_seqlens_source || s.sources == s.queries, kOp,
                    ": cu_seqlens_source: expected, since q has ", s.queries, " rows and m ", s.sources, ", got none");
  if (o.cu_seqlens_source) {
    TORCH_CHECK_VALUE(o.cu_seqlens, kOp, ": cu_seqlens: expected together with cu_seqlens_source, got none");
    TORCH_CHECK_VALUE(form == Form::full, kOp, ": cu_seqlens_source: expected none in the causal form, got ",
                      o.cu_seqlens_source->sym_sizes());
    check_borders_shape<Int>(kOp, "cu_seqlens_source", *o.cu_seqlens_source, x.q);
    TORCH_CHECK_VALUE(sizes_of<Int>(*o.cu_seqlens_source)[0] == sizes_of<Int>(*o.cu_seqlens)[0], kOp,
                      ": cu_seqlens_source: expected as many borders as cu_seqlens, ", o.cu_seqlens->sym_sizes(),
                      ", got ", o.cu_seqlens_source->sym_sizes());
  }
  return s;
}

/// Number of streams: the batch, or the sequences of a pack.
template <class Int>
Int streams_of(const Shape<Int>& s, const Options& o) {
  return o.cu_seqlens ? Int(sizes_of<Int>(*o.cu_seqlens)[0] - 1) : s.batch;
}

/// A tensor of the state of `per_slot` numbers for each slot, or a gradient of one.
template <class Int>
void check_slots(const char* name, const at::Tensor& t, const Shape<Int>& s, const Int& streams, int64_t per_slot,
                 at::ScalarType dtype, const at::Tensor& q) {
  const bool paired = per_slot == 2;
  check_dims(kExtend, name, t, 3, paired ? "[B, H, 2 R]" : "[B, H, R]");
  const auto sizes = sizes_of<Int>(t);
  TORCH_CHECK_VALUE(sizes[0] == streams && sizes[1] == s.heads && sizes[2] == s.slots * per_slot, kExtend, ": ", name,
                    ": expected [B = ", streams, ", H = ", s.heads, paired ? ", 2 R = " : ", R = ", s.slots * per_slot,
                    "], got ", t.sym_sizes());
  TORCH_CHECK_VALUE(t.scalar_type() == dtype, kExtend, ": ", name, ": expected ", c10::getDtypeNames(dtype).first,
                    ", got ", dtype_name(t));
  check_same_device(kExtend, name, t, q);
}

/// Sums of the accumulator.
template <class Int>
void check_sums(const char* name, const at::Tensor& t, const Shape<Int>& s, const Options& o, const at::Tensor& q) {
  const Accumulator accumulator = parse_accumulator(kExtend, o.accumulator);
  check_slots<Int>(name, t, s, streams_of(s, o), kernels::words(accumulator),
                   accumulator == Accumulator::float64 ? at::kDouble : at::kFloat, q);
}
template <class Int>
void check_visible(const char* name, const at::Tensor& t, const Shape<Int>& s, const Options& o, const at::Tensor& q) {
  check_slots<Int>(name, t, s, streams_of(s, o), 1, at::kDouble, q);
}

template <class Int>
Shape<Int> check_extend(const Inputs& x, const State& state, const Options& o) {
  const auto s = check_inputs<Int>(kExtend, x, Form::causal, o);
  const Int streams = streams_of<Int>(s, o);
  check_sums<Int>("closed", state.closed, s, o, x.q);
  check_sums<Int>("open", state.open, s, o, x.q);
  const at::Tensor& count = state.count;
  TORCH_CHECK_VALUE(count.dim() == 1 && sizes_of<Int>(count)[0] == streams, kExtend, ": count: expected [B = ", streams,
                    "], got ", count.sym_sizes());
  TORCH_CHECK_VALUE(count.scalar_type() == at::kLong, kExtend, ": count: expected int64, got ", dtype_name(count));
  check_same_device(kExtend, "count", count, x.q);
  TORCH_CHECK_VALUE(state.visible.has_value() == (o.window > 0), kExtend, ": visible: expected ",
                    o.window > 0 ? "with" : "none without", " a window, got ", state.visible ? "one" : "none");
  if (state.visible) check_visible<Int>("visible", *state.visible, s, o, x.q);
  return s;
}

/// The gradient of `out`.
inline void check_dout(const char* op, const at::Tensor& dout, const at::Tensor& q) {
  check_same_kind(op, "dout", dout, q);
  bool fits = dout.dim() == 4;
  for (int64_t i = 0; fits && i < 4; ++i) fits = dout.sym_size(i) == q.sym_size(i);
  TORCH_CHECK_VALUE(fits, op, ": dout: expected the shape of q, ", q.sym_sizes(), ", got ", dout.sym_sizes());
}

/// The incoming gradients of orthogonal_memory_extend, for inputs that check_extend() has passed.
template <class Int>
void check_extended_gradients(const ExtendedGradients& g, const Inputs& x, const Shape<Int>& s, const Options& o) {
  if (g.out) check_dout(kExtend, *g.out, x.q);
  if (g.closed) check_sums<Int>("dclosed_out", *g.closed, s, o, x.q);
  if (g.open) check_sums<Int>("dopen_out", *g.open, s, o, x.q);
  TORCH_CHECK_VALUE(!g.visible || o.window > 0, kExtend, ": dvisible_out: expected none without a window, got one");
  if (g.visible) check_visible<Int>("dvisible_out", *g.visible, s, o, x.q);
}

}  // namespace longspan::ops::memory
