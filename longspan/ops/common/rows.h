// From tensors to the plain views of the kernels and back.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <optional>
#include <type_traits>

#include "longspan/base/bfloat16.h"
#include "longspan/base/views.h"

namespace longspan::ops {

/// The tensor itself where its last dimension is dense, as the kernels need it, else a contiguous copy.
inline at::Tensor dense_rows(const at::Tensor& t) { return t.stride(-1) == 1 || t.size(-1) <= 1 ? t : t.contiguous(); }

/// at::BFloat16 and the kernels' BFloat16 are the same 16 bits.
static_assert(sizeof(at::BFloat16) == sizeof(BFloat16));
template <class T>
using TensorElement = std::conditional_t<std::is_same_v<T, BFloat16>, at::BFloat16, T>;

/// View of [B, H, N, D] by its strides; of [B, H, N] as rows of width 1.
template <class T>
RowsView<const T> rows(const at::Tensor& t) {
  return {reinterpret_cast<const T*>(t.const_data_ptr<TensorElement<T>>()), t.stride(0), t.stride(1), t.stride(2)};
}
template <class T>
RowsView<T> mutable_rows(const at::Tensor& t) {
  return {reinterpret_cast<T*>(t.mutable_data_ptr<TensorElement<T>>()), t.stride(0), t.stride(1), t.stride(2)};
}

/// True where [B, H, N, D] is laid out as [B, N, H, D], as the split of a projection into heads leaves it.
inline bool rows_before_heads(const at::Tensor& t) { return t.sym_stride(2) > t.sym_stride(1); }

/// An uninitialised [B, H, N, W] with the order of dimensions of `like`, so that heads can be joined without a copy,
/// and its dtype unless given. Works on symbolic sizes, and so agrees between kernels and meta functions.
inline at::Tensor empty_rows(const c10::SymInt& batch, const c10::SymInt& heads, const c10::SymInt& rows,
                             const c10::SymInt& width, const at::Tensor& like,
                             std::optional<at::ScalarType> dtype = std::nullopt) {
  const auto options = like.options().dtype(dtype.value_or(like.scalar_type()));
  if (!rows_before_heads(like)) return at::empty_symint({batch, heads, rows, width}, options);
  return at::empty_symint({batch, rows, heads, width}, options).transpose(1, 2);
}

/// An uninitialised gradient of [B, H, N, D] in its memory layout.
inline at::Tensor empty_rows_like(const at::Tensor& t) {
  return empty_rows(t.sym_size(0), t.sym_size(1), t.sym_size(2), t.sym_size(3), t);
}

inline at::Tensor uninitialised_like(const at::Tensor& t) { return at::empty(t.sizes(), t.options()); }

/// A gradient [B, H, N, D] that is zero everywhere: one row, read again and again.
inline at::Tensor zero_rows(const at::Tensor& like) {
  return at::zeros({like.size(3)}, like.options()).expand(like.sizes());
}

/// The tensor in the layout that empty_rows() would give it; differentiable.
inline at::Tensor with_layout(const at::Tensor& t, const at::Tensor& like) {
  return rows_before_heads(like) ? t.transpose(1, 2).contiguous().transpose(1, 2) : t.contiguous();
}

/// Borders of packed sequences, held as int64.
struct Borders {
  at::Tensor starts;  ///< on the CPU; undefined for an unpacked batch
  int64_t sequences = 0;
  Segments segments;
};

/// Borders of a batch of `batch` sequences of `rows` rows each, or of those that `cu` cuts out of `rows` rows. Checks
/// that `cu` ascends from 0 to `rows`.
Borders load_borders(const char* op, const char* name, const std::optional<at::Tensor>& cu, int64_t batch,
                     int64_t rows);

}  // namespace longspan::ops
