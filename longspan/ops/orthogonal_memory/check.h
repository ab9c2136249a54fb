// Shape and option rules of orthogonal_memory and orthogonal_memory_extend, written once for kernels, composed form and
// meta functions.
#pragma once

#include "longspan/ops/common/backend.h"
#include "longspan/ops/common/check.h"
#include "longspan/ops/common/rows.h"

namespace longspan::ops::memory {

inline constexpr const char* kOp = "orthogonal_memory";
inline constexpr const char* kExtend = "orthogonal_memory_extend";

enum class Form { causal, full };

inline Form parse_form(std::string_view form) {
  if (form == "causal") return Form::causal;
  TORCH_CHECK_VALUE(form == "full", kOp, ": form: expected causal or full, got ", form);
  return Form::full;
}

template <class Int>
struct Shape {
  Int batch, heads, queries, sources, width, slots;
};

template <class Int>
Shape<Int> check_operands(const char* op, const at::Tensor& q, const at::Tensor& m, const at::Tensor& basis, Form form,
                          const std::optional<at::Tensor>& cu_seqlens) {
  check_dims(op, "q", q, 4, "[B, H, N, D]");
  check_dims(op, "m", m, 4, "[B, H, M, D]");
  check_dims(op, "basis", basis, 3, "[H, R, D] or [1, R, D]");
  check_floating(op, "q", q);
  check_same_kind(op, "m", m, q);
  check_same_kind(op, "basis", basis, q);
  const auto qs = sizes_of<Int>(q), ms = sizes_of<Int>(m), bs = sizes_of<Int>(basis);
  const Shape<Int> s{qs[0], qs[1], qs[2], ms[2], qs[3], bs[1]};
  TORCH_CHECK_VALUE(s.width >= 1, op, ": q: expected a width D of 1 or more, got ", q.sym_sizes());
  TORCH_CHECK_VALUE(ms[0] == s.batch && ms[1] == s.heads && ms[3] == s.width, op, ": m: expected [B = ", s.batch,
                    ", H = ", s.heads, ", M, D = ", s.width, "], got ", m.sym_sizes());
  TORCH_CHECK_VALUE((bs[0] == 1 || bs[0] == s.heads) && s.slots >= 1 && bs[2] == s.width, op,
                    ": basis: expected [H = ", s.heads, ", R, D = ", s.width, "] or [1, R, D], R >= 1, got ",
                    basis.sym_sizes());
  TORCH_CHECK_VALUE(form == Form::full || s.sources == s.queries, op, ": m: expected as many rows as q, ", s.queries,
                    ", in the causal form, got ", s.sources);
  if (cu_seqlens) check_borders_shape<Int>(op, "cu_seqlens", *cu_seqlens, q);
  return s;
}

template <class Int>
Shape<Int> check(const at::Tensor& q, const at::Tensor& m, const at::Tensor& basis, Form form,
                 const std::optional<at::Tensor>& cu_seqlens, const std::optional<at::Tensor>& cu_seqlens_source) {
  const auto s = check_operands<Int>(kOp, q, m, basis, form, cu_seqlens);
  TORCH_CHECK_VALUE(!cu_seqlens || cu_seqlens_source || s.sources == s.queries, kOp,
                    ": cu_seqlens_source: expected, since q has ", s.queries, " rows and m ", s.sources);
  if (cu_seqlens_source) {
    TORCH_CHECK_VALUE(cu_seqlens, kOp, ": cu_seqlens: expected together with cu_seqlens_source");
    TORCH_CHECK_VALUE(form == Form::full, kOp, ": cu_seqlens_source: expected none in the causal form");
    check_borders_shape<Int>(kOp, "cu_seqlens_source", *cu_seqlens_source, q);
    TORCH_CHECK_VALUE(sizes_of<Int>(*cu_seqlens_source)[0] == sizes_of<Int>(*cu_seqlens)[0], kOp,
                      ": cu_seqlens_source: expected as many borders as cu_seqlens, ", cu_seqlens->sym_sizes(),
                      ", got ", cu_seqlens_source->sym_sizes());
  }
  return s;
}

/// A tensor of the state's sums, or a gradient of one: [S, H, R] float64.
template <class Int>
void check_sums(const char* name, const at::Tensor& sums, const Int& streams, const Shape<Int>& s,
                const at::Tensor& q) {
  check_dims(kExtend, name, sums, 3, "[B, H, R]");
  const auto sizes = sizes_of<Int>(sums);
  TORCH_CHECK_VALUE(sizes[0] == streams && sizes[1] == s.heads && sizes[2] == s.slots, kExtend, ": ", name,
                    ": expected [B = ", streams, ", H = ", s.heads, ", R = ", s.slots, "], got ", sums.sym_sizes());
  TORCH_CHECK_VALUE(sums.scalar_type() == at::kDouble, kExtend, ": ", name, ": expected float64, got ",
                    dtype_name(sums));
  TORCH_CHECK_VALUE(sums.device() == q.device(), kExtend, ": ", name, ": expected device ", q.device(), " as q, got ",
                    sums.device());
}

/// Number of streams: the batch, or the sequences of a pack.
template <class Int>
Int streams_of(const Shape<Int>& s, const std::optional<at::Tensor>& cu_seqlens) {
  return cu_seqlens ? Int(sizes_of<Int>(*cu_seqlens)[0] - 1) : s.batch;
}

template <class Int>
Shape<Int> check_extend(const at::Tensor& q, const at::Tensor& m, const at::Tensor& basis, const at::Tensor& closed,
                        const at::Tensor& open, const at::Tensor& count, const std::optional<at::Tensor>& cu_seqlens) {
  const auto s = check_operands<Int>(kExtend, q, m, basis, Form::causal, cu_seqlens);
  const Int streams = streams_of<Int>(s, cu_seqlens);
  check_sums<Int>("closed", closed, streams, s, q);
  check_sums<Int>("open", open, streams, s, q);
  TORCH_CHECK_VALUE(count.dim() == 1 && sizes_of<Int>(count)[0] == streams, kExtend, ": count: expected [B = ", streams,
                    "], got ", count.sym_sizes());
  TORCH_CHECK_VALUE(count.scalar_type() == at::kLong, kExtend, ": count: expected int64, got ", dtype_name(count));
  TORCH_CHECK_VALUE(count.device() == q.device(), kExtend, ": count: expected device ", q.device(), " as q, got ",
                    count.device());
  return s;
}

/// The values of `count`, where there are any.
inline void check_count_values(const at::Tensor& count) {
  if (!has_values(count)) return;
  const at::Tensor on_cpu = count.to(at::kCPU).contiguous();
  for (int64_t s = 0; s < on_cpu.numel(); ++s) {
    const int64_t value = on_cpu.const_data_ptr<int64_t>()[s];
    TORCH_CHECK_VALUE(value >= 0, kExtend, ": count: expected 0 or more, got ", value, " at index ", s);
  }
}

/// The gradient of `out`.
inline void check_dout(const char* op, const at::Tensor& dout, const at::Tensor& q) {
  check_same_kind(op, "dout", dout, q);
  bool fits = dout.dim() == 4;
  for (int64_t i = 0; fits && i < 4; ++i) fits = dout.sym_size(i) == q.sym_size(i);
  TORCH_CHECK_VALUE(fits, op, ": dout: expected the shape of q, ", q.sym_sizes(), ", got ", dout.sym_sizes());
}

/// The incoming gradients of orthogonal_memory_extend, for operands that check_extend() has passed.
template <class Int>
void check_extend_gradients(const std::optional<at::Tensor>& dout, const std::optional<at::Tensor>& dclosed_out,
                            const std::optional<at::Tensor>& dopen_out, const at::Tensor& q, const at::Tensor& basis,
                            const std::optional<at::Tensor>& cu_seqlens) {
  const auto qs = sizes_of<Int>(q);
  const Shape<Int> s{qs[0], qs[1], qs[2], qs[2], qs[3], sizes_of<Int>(basis)[1]};
  if (dout) check_dout(kExtend, *dout, q);
  if (dclosed_out) check_sums<Int>("dclosed_out", *dclosed_out, streams_of<Int>(s, cu_seqlens), s, q);
  if (dopen_out) check_sums<Int>("dopen_out", *dopen_out, streams_of<Int>(s, cu_seqlens), s, q);
}

}  // namespace longspan::ops::memory
