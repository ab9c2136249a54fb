// Checks shared by the operators, over concrete sizes (int64_t) on real tensors and symbolic ones (c10::SymInt) in the
// meta functions, so that a rule stands in one place. Messages read
// "local_attention: k: expected [B = 2, H = 4, M, D = 8], got [2, 4, 7, 9]" and raise ValueError in Python.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/SymIntArrayRef.h>

#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <type_traits>

namespace longspan::ops {

template <class Int>
c10::ArrayRef<Int> sizes_of(const at::Tensor& t) {
  if constexpr (std::is_same_v<Int, c10::SymInt>)
    return t.sym_sizes();
  else
    return t.sizes();
}

/// "float32"
inline std::string_view dtype_name(const at::Tensor& t) { return c10::getDtypeNames(t.scalar_type()).first; }

inline bool is_16_bit(const at::Tensor& t) { return t.scalar_type() == at::kBFloat16 || t.scalar_type() == at::kHalf; }

/// The dtype in which an operator computes, and that of its sums where no option says otherwise.
inline at::ScalarType sum_dtype(const at::Tensor& q) {
  return q.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

inline void check_same_device(const char* op, const char* name, const at::Tensor& t, const at::Tensor& q,
                              const char* q_name = "q") {
  TORCH_CHECK_VALUE(t.device() == q.device(), op, ": ", name, ": expected device ", q.device(), " as ", q_name,
                    ", got ", t.device());
}

/// What is read by numbers may lie on the CPU too.
inline void check_on_cpu_or_beside(const char* op, const char* name, const at::Tensor& t, const at::Tensor& q) {
  TORCH_CHECK_VALUE(t.is_cpu() || t.device() == q.device(), op, ": ", name, ": expected a tensor on ",
                    q.is_cpu() ? "" : "cpu or ", q.device(), ", got device ", t.device());
}

/// Same device and dtype as the operator's first tensor `q`.
inline void check_same_kind(const char* op, const char* name, const at::Tensor& t, const at::Tensor& q,
                            const char* q_name = "q") {
  TORCH_CHECK_VALUE(t.scalar_type() == q.scalar_type(), op, ": ", name, ": expected ", dtype_name(q), " as ", q_name,
                    ", got ", dtype_name(t));
  check_same_device(op, name, t, q, q_name);
}

/// The same, for what may be float32 beside a 16-bit `q`.
inline void check_same_or_float32(const char* op, const char* name, const at::Tensor& t, const at::Tensor& q) {
  if (!is_16_bit(q)) return check_same_kind(op, name, t, q);
  TORCH_CHECK_VALUE(t.scalar_type() == q.scalar_type() || t.scalar_type() == at::kFloat, op, ": ", name, ": expected ",
                    dtype_name(q), " as q or float32, got ", dtype_name(t));
  check_same_device(op, name, t, q);
}

inline void check_floating(const char* op, const char* name, const at::Tensor& t) {
  TORCH_CHECK_VALUE(at::isFloatingType(t.scalar_type()), op, ": ", name, ": expected a floating point dtype, got ",
                    dtype_name(t));
}

inline void check_finite(const char* op, const char* name, double value) {
  TORCH_CHECK_VALUE(std::isfinite(value), op, ": ", name, ": expected a finite number, got ", value);
}

inline void check_dims(const char* op, const char* name, const at::Tensor& t, int64_t dims, const char* shape) {
  TORCH_CHECK_VALUE(t.dim() == dims, op, ": ", name, ": expected ", shape, ", got ", t.sym_sizes());
}

/// Grouped heads: `t` [B, Hg, M, D] has a number of heads, `letters` in messages, that divides the H of q.
template <class Int>
void check_groups(const char* op, const char* name, const char* letters, const at::Tensor& t, const Int& heads) {
  const Int& groups = sizes_of<Int>(t)[1];
  TORCH_CHECK_VALUE(groups == heads || (groups >= 1 && heads % groups == 0), op, ": ", name,
                    ": expected a number of heads ", letters, " that divides H = ", heads, ", got ", t.sym_sizes());
}

/// Borders of packed sequences: [S + 1], int32 or int64, on the CPU or beside q; under packing the batch is 1. Their
/// values are checked by load_borders() (rows.h), where there are any.
template <class Int>
void check_borders_shape(const char* op, const char* name, const at::Tensor& cu, const at::Tensor& q) {
  TORCH_CHECK_VALUE(cu.dim() == 1 && sizes_of<Int>(cu)[0] >= 1, op, ": ", name, ": expected [S + 1], got ",
                    cu.sym_sizes());
  TORCH_CHECK_VALUE(cu.scalar_type() == at::kLong || cu.scalar_type() == at::kInt, op, ": ", name,
                    ": expected int64 or int32, got ", dtype_name(cu));
  check_on_cpu_or_beside(op, name, cu, q);
  TORCH_CHECK_VALUE(sizes_of<Int>(q)[0] == 1, op, ": ", name,
                    ": expected a batch of 1 in a packed call, got B = ", sizes_of<Int>(q)[0]);
}

/// Probability and seed of dropout; load_dropout() reads the seed. `name` is the probability's.
inline void check_dropout(const char* op, double dropout, const std::optional<at::Tensor>& seed, const at::Tensor& q,
                          const char* name = "dropout") {
  TORCH_CHECK_VALUE(dropout >= 0 && dropout < 1, op, ": ", name, ": expected a probability in [0, 1), got ", dropout);
  TORCH_CHECK_VALUE(seed || dropout == 0, op, ": dropout_seed: expected with a ", name, " of ", dropout, ", got none");
  if (!seed) return;
  check_dims(op, "dropout_seed", *seed, 0, "no dimensions");
  TORCH_CHECK_VALUE(seed->scalar_type() == at::kLong, op, ": dropout_seed: expected int64, got ", dtype_name(*seed));
  check_on_cpu_or_beside(op, "dropout_seed", *seed, q);
}

/// The row and the position that dropout counts each sequence from.
template <class Int>
void check_dropout_origin(const char* op, const at::Tensor& origin, const Int& sequences, const at::Tensor& q) {
  TORCH_CHECK_VALUE(origin.dim() == 2 && sizes_of<Int>(origin)[0] == sequences && sizes_of<Int>(origin)[1] == 2, op,
                    ": dropout_origin: expected [S = ", sequences, ", 2], got ", origin.sym_sizes());
  TORCH_CHECK_VALUE(origin.scalar_type() == at::kLong, op, ": dropout_origin: expected int64, got ",
                    dtype_name(origin));
  check_on_cpu_or_beside(op, "dropout_origin", origin, q);
}

/// Whether the elements of `t` can be read: not on the meta device, nor in a tensor that stands for one while a graph
/// is traced.
inline bool has_values(const at::Tensor& t) {
  return !t.is_meta() && t.has_storage() && !t.unsafeGetTensorImpl()->is_python_dispatch() &&
         !t.key_set().has(c10::DispatchKey::Functionalize);
}

/// Positions consumed by streams, `t` [S]: neither negative nor beyond int64 after `rows` more at the most; where the
/// values can be seen.
inline void check_positions(const char* op, const char* name, const at::Tensor& t, int64_t rows) {
  if (!has_values(t)) return;
  const at::Tensor on_cpu = t.to(at::kCPU).contiguous();
  const int64_t most = std::numeric_limits<int64_t>::max() - rows;
  for (int64_t s = 0; s < on_cpu.numel(); ++s) {
    const int64_t value = on_cpu.const_data_ptr<int64_t>()[s];
    TORCH_CHECK_VALUE(value >= 0, op, ": ", name, ": expected 0 or more, got ", value, " at index ", s);
    TORCH_CHECK_VALUE(value <= most, op, ": ", name, ": expected at most 2^63 - 1 - N = ", most, ", got ", value,
                      " at index ", s);
  }
}

}  // namespace longspan::ops
