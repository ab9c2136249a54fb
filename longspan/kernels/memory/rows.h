// Rows of one sequence and head as the vector code gets them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "longspan/base/bfloat16.h"
#include "longspan/base/views.h"

namespace longspan::kernels::memory {

/// Consecutive rows in memory: of T where `wide` is set, else of bfloat16. T may be const. The stride is in elements.
template <class T>
struct Rows {
  using Narrow = std::conditional_t<std::is_const_v<T>, const BFloat16, BFloat16>;
  T* wide = nullptr;
  Narrow* narrow = nullptr;
  int64_t stride = 0;

  Rows() = default;
  Rows(T* data, int64_t row_stride) : wide(data), stride(row_stride) {}
  Rows(Narrow* data, int64_t row_stride) : narrow(data), stride(row_stride) {}
  /// From `row` of a sequence and head on, in a view of them (Segments::at).
  template <class S>
  Rows(const RowsView<S>& view, int64_t row) : Rows(view.row(0, 0, row), view.row_stride) {}

  Rows from(int64_t row) const {
    return wide ? Rows(wide + row * stride, stride) : Rows(narrow + row * stride, stride);
  }
};

template <class T>
void zero_rows(const Rows<T>& rows, int64_t count, int64_t width) {
  for (int64_t t = 0; t < count; ++t) {
    if (rows.wide)
      std::fill_n(rows.wide + t * rows.stride, width, T(0));
    else
      std::fill_n(rows.narrow + t * rows.stride, width, BFloat16(0));
  }
}

}  // namespace longspan::kernels::memory
