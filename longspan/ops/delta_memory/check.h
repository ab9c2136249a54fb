// Shape and option rules of delta_memory and delta_memory_extend, written once for kernels, composed form and meta
// functions.
#pragma once

#include <initializer_list>
#include <sstream>
#include <string>

#include "longspan/kernels/delta/delta_memory.h"
#include "longspan/ops/common/backend.h"
#include "longspan/ops/common/check.h"
#include "longspan/ops/common/rows.h"
#include "longspan/ops/delta_memory/dispatch.h"

namespace longspan::ops::delta {

inline constexpr const char* kOp = "delta_memory";
inline constexpr const char* kExtend = "delta_memory_extend";

using kernels::DeltaDecay;
using kernels::kDeltaChunk;

template <class Int>
struct Shape {
  Int batch, heads, rows, slots, width;
  Int streams;  ///< the batch, or the sequences of a pack
  DeltaDecay decay;
};

/// A dimension by its letter; "" for one that has none.
template <class Int>
struct Dimension {
  const char* letter;
  Int size;
};

/// `t` has these sizes, this dtype, and is where q is.
template <class Int>
void check_sizes(const char* op, const char* name, const at::Tensor& t, std::initializer_list<Dimension<Int>> sizes) {
  bool fits = t.dim() == static_cast<int64_t>(sizes.size());
  int64_t i = 0;
  for (const auto& dimension : sizes) fits = fits && sizes_of<Int>(t)[i++] == dimension.size;
  if (fits) return;
  std::ostringstream wanted;
  for (const auto& d : sizes)
    wanted << (wanted.tellp() > 0 ? ", " : "") << d.letter << (*d.letter ? " = " : "") << d.size;
  TORCH_CHECK_VALUE(false, op, ": ", name, ": expected [", wanted.str(), "], got ", t.sym_sizes());
}

inline void check_dtype(const char* op, const char* name, const at::Tensor& t, at::ScalarType dtype,
                        const at::Tensor& q) {
  TORCH_CHECK_VALUE(t.scalar_type() == dtype, op, ": ", name, ": expected ", c10::getDtypeNames(dtype).first, ", got ",
                    dtype_name(t));
  check_same_device(op, name, t, q);
}

/// The letter of the number of streams.
inline const char* streams_letter(const Options& o) { return o.cu_seqlens ? "S" : "B"; }

template <class Int>
Shape<Int> check_inputs(const char* op, const Inputs& x, const Options& o) {
  check_dims(op, "q", x.q, 4, "[B, H, N, R]");
  check_dims(op, "v", x.v, 4, "[B, H, N, D]");
  check_floating(op, "q", x.q);
  const auto qs = sizes_of<Int>(x.q);
  Shape<Int> s{qs[0], qs[1], qs[2], qs[3], sizes_of<Int>(x.v)[3], qs[0], DeltaDecay::none};
  TORCH_CHECK_VALUE(s.slots >= 1, op, ": q: expected R of 1 or more slots, got ", x.q.sym_sizes());
  check_sizes<Int>(op, "k", x.k, {{"B", s.batch}, {"H", s.heads}, {"N", s.rows}, {"R", s.slots}});
  check_sizes<Int>(op, "v", x.v, {{"B", s.batch}, {"H", s.heads}, {"N", s.rows}, {"D", s.width}});
  TORCH_CHECK_VALUE(s.width >= 1, op, ": v: expected a width D of 1 or more, got ", x.v.sym_sizes());
  check_sizes<Int>(op, "beta", x.beta, {{"B", s.batch}, {"H", s.heads}, {"N", s.rows}});
  check_same_kind(op, "k", x.k, x.q);
  check_same_kind(op, "v", x.v, x.q);
  check_same_or_float32(op, "beta", x.beta, x.q);
  if (x.log_alpha) {
    const at::Tensor& t = *x.log_alpha;
    TORCH_CHECK_VALUE(t.dim() == 3 || t.dim() == 4, op, ": log_alpha: expected [B, H, N] or [B, H, N, R], got ",
                      t.sym_sizes());
    s.decay = t.dim() == 3 ? DeltaDecay::scalar : DeltaDecay::slot;
    if (s.decay == DeltaDecay::scalar)
      check_sizes<Int>(op, "log_alpha", t, {{"B", s.batch}, {"H", s.heads}, {"N", s.rows}});
    else
      check_sizes<Int>(op, "log_alpha", t, {{"B", s.batch}, {"H", s.heads}, {"N", s.rows}, {"R", s.slots}});
    check_same_or_float32(op, "log_alpha", t, x.q);
  }
  if (o.cu_seqlens) {
    check_borders_shape<Int>(op, "cu_seqlens", *o.cu_seqlens, x.q);
    s.streams = sizes_of<Int>(*o.cu_seqlens)[0] - 1;
  }
  return s;
}

/// A state or the gradient of one, of which only the dtype is the caller's.
template <class Int>
void check_matrix(const char* op, const char* name, const at::Tensor& t, const Shape<Int>& s, const Options& o) {
  check_sizes<Int>(op, name, t, {{streams_letter(o), s.streams}, {"H", s.heads}, {"R", s.slots}, {"D", s.width}});
}

template <class Int>
Shape<Int> check(const Inputs& x, const OptionalTensor& state, const Options& o) {
  const auto s = check_inputs<Int>(kOp, x, o);
  if (state) {
    check_matrix<Int>(kOp, "state", *state, s, o);
    check_same_or_float32(kOp, "state", *state, x.q);
  }
  return s;
}

/// The floating tensors of a stream's state, or their gradients: those that are there.
template <class Int>
void check_state(const char* const (&names)[4], const OptionalTensor& memory, const OptionalTensor& keys,
                 const OptionalTensor& writes, const OptionalTensor& log_alpha, const Inputs& x, const Shape<Int>& s,
                 const Options& o) {
  const Dimension<Int> streams{streams_letter(o), s.streams}, heads{"H", s.heads}, chunk{"", Int(kDeltaChunk)};
  const Dimension<Int> slots{"R", s.slots}, width{"D", s.width};
  if (memory) check_matrix<Int>(kExtend, names[0], *memory, s, o);
  if (keys) check_sizes<Int>(kExtend, names[1], *keys, {streams, heads, chunk, slots});
  if (writes) check_sizes<Int>(kExtend, names[2], *writes, {streams, heads, chunk, width});
  if (log_alpha && s.decay == DeltaDecay::scalar)
    check_sizes<Int>(kExtend, names[3], *log_alpha, {streams, heads, chunk});
  if (log_alpha && s.decay == DeltaDecay::slot)
    check_sizes<Int>(kExtend, names[3], *log_alpha, {streams, heads, chunk, slots});
  const OptionalTensor tensors[] = {memory, keys, writes, log_alpha};
  for (int i = 0; i < 4; ++i)
    if (tensors[i]) check_dtype(kExtend, names[i], *tensors[i], sum_dtype(x.q), x.q);
}

template <class Int>
Shape<Int> check_extend(const Inputs& x, const State& state, const Options& o) {
  const auto s = check_inputs<Int>(kExtend, x, o);
  TORCH_CHECK_VALUE(state.log_alpha.has_value() == x.log_alpha.has_value(), kExtend, ": log_alpha_rows: expected ",
                    x.log_alpha ? "one beside" : "none without", " log_alpha, got ", state.log_alpha ? "one" : "none");
  check_state<Int>({"memory", "keys", "writes", "log_alpha_rows"}, state.memory, state.keys, state.writes,
                   state.log_alpha, x, s, o);
  check_sizes<Int>(kExtend, "position", state.position, {{streams_letter(o), s.streams}});
  check_dtype(kExtend, "position", state.position, at::kLong, x.q);
  return s;
}

/// The gradient of `out`.
template <class Int>
void check_dout(const char* op, const OptionalTensor& dout, const Inputs& x, const Shape<Int>& s) {
  if (!dout) return;
  check_sizes<Int>(op, "dout", *dout, {{"B", s.batch}, {"H", s.heads}, {"N", s.rows}, {"D", s.width}});
  check_dtype(op, "dout", *dout, x.q.scalar_type(), x.q);
}

/// The gradients of the results of inputs that check() has passed.
template <class Int>
void check_gradients(const OutputGradients& g, const Inputs& x, const Shape<Int>& s, const Options& o) {
  check_dout<Int>(kOp, g.out, x, s);
  if (!g.state) return;
  check_matrix<Int>(kOp, "dstate_out", *g.state, s, o);
  check_dtype(kOp, "dstate_out", *g.state, sum_dtype(x.q), x.q);
}

/// The same of those that check_extend() has passed.
template <class Int>
void check_gradients(const ExtendedGradients& g, const Inputs& x, const Shape<Int>& s, const Options& o) {
  check_dout<Int>(kExtend, g.out, x, s);
  TORCH_CHECK_VALUE(!g.log_alpha || x.log_alpha, kExtend,
                    ": dlog_alpha_rows_out: expected none without log_alpha, got one");
  check_state<Int>({"dmemory_out", "dkeys_out", "dwrites_out", "dlog_alpha_rows_out"}, g.memory, g.keys, g.writes,
                   g.log_alpha, x, s, o);
}

/// What of the sizes the kernel does not take; empty: nothing. Sizes that check() will refuse are no matter.
inline std::string beyond_kernel(const Inputs& x) {
  if (x.q.dim() != 4 || x.v.dim() != 4) return "";
  const c10::SymInt slots = x.q.sym_size(3), width = x.v.sym_size(3);
  if (slots <= kernels::kDeltaLargest && width <= kernels::kDeltaLargest) return "";
  std::ostringstream text;
  text << "R = " << slots << ", D = " << width << ", above " << kernels::kDeltaLargest;
  return text.str();
}

inline Backend choose(const char* op, const Inputs& x, const Options& o) {
  return choose_backend(op, o.backend, x.q, beyond_kernel(x));
}
inline Backend choose_and_report(const char* op, const Inputs& x, const Options& o) {
  const std::string beyond = beyond_kernel(x);
  const Backend chosen = choose_backend(op, o.backend, x.q, beyond);
  report_backend(op, o.backend, chosen, x.q, beyond);
  return chosen;
}
/// For the backward operators, which are a matter of the kernel.
inline void require_kernel(const char* op, const Inputs& x) { choose_backend(op, "kernel", x.q, beyond_kernel(x)); }

}  // namespace longspan::ops::delta
