// Tensors of kernel problems: rows of sequences and heads in several layouts, and values that are a function of where
// they stand alone.
#pragma once

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "longspan/base/bfloat16.h"
#include "longspan/base/views.h"

namespace longspan::kernels::kernel_test {

enum class Layout {
  dense,        ///< [S, H, N, width]
  interleaved,  ///< [S, N, H, width]
  misaligned,   ///< dense, one element off every alignment, rows width + 3 apart
};

/// Uniform in [-1, 1], a function of the keys.
inline double uniform_of(std::initializer_list<int64_t> keys) {
  uint64_t x = 0x9e3779b97f4a7c15u;
  for (const int64_t key : keys) {
    x = (x ^ static_cast<uint64_t>(key)) * 0xbf58476d1ce4e5b9u;
    x ^= x >> 29;
  }
  x *= 0x94d049bb133111ebu;
  x ^= x >> 31;
  return 2 * static_cast<double>(x >> 11) * 0x1p-53 - 1;
}

/// Rounded to storage, and back.
template <class S>
S stored(double x) {
  return static_cast<S>(static_cast<Computed<S>>(x));
}
template <class S>
double loaded(S x) {
  return static_cast<Computed<S>>(x);
}

/// A [S, H, N, width] tensor, or [H, total rows, width] under packing; NaN where nothing was written.
template <class X>
struct Tensor {
  Tensor() = default;
  Tensor(const Segments& rows, int64_t sequences, int64_t heads, int64_t columns, Layout layout)
      : segments(rows), width(columns) {
    const int64_t outer = rows.starts ? 1 : sequences, n = rows.starts ? rows.starts[sequences] : rows.rows;
    const int64_t row = layout == Layout::misaligned ? width + 3 : width, offset = layout == Layout::misaligned ? 1 : 0;
    storage.assign(outer * heads * n * row + offset, stored<X>(std::nan("")));
    view.data = storage.data() + offset;
    view.sequence_stride = heads * n * row;
    view.head_stride = layout == Layout::interleaved ? row : n * row;
    view.row_stride = layout == Layout::interleaved ? heads * row : row;
  }
  X* row(int64_t s, int64_t h, int64_t t) const { return segments.at(view, s, h).row(0, 0, t); }
  RowsView<const X> input() const { return {view.data, view.sequence_stride, view.head_stride, view.row_stride}; }
  /// The rows of one sequence and head, contiguous.
  std::vector<X> rows(int64_t s, int64_t h) const {
    std::vector<X> out;
    for (int64_t t = 0; t < segments.size(s); ++t) out.insert(out.end(), row(s, h, t), row(s, h, t) + width);
    return out;
  }

  Segments segments;
  int64_t width = 0;
  std::vector<X> storage;
  RowsView<X> view;
};

}  // namespace longspan::kernels::kernel_test
