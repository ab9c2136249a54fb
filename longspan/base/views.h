// Plain views of tensors, for code that knows nothing of torch.
#pragma once

#include <cstdint>

namespace longspan {

/// A [sequences, heads, rows, width] tensor by pointer and strides in elements. The width has stride 1.
template <class T>
struct RowsView {
  T* data = nullptr;
  int64_t sequence_stride = 0;
  int64_t head_stride = 0;
  int64_t row_stride = 0;

  T* row(int64_t sequence, int64_t head, int64_t index) const {
    return data + sequence * sequence_stride + head * head_stride + index * row_stride;
  }
};

/// Borders of packed sequences (the `cu_seqlens` of FlashAttention): sequence s covers rows
/// [starts[s], starts[s + 1]) of one long row axis. With `starts == nullptr` every sequence has `rows` rows of its own
/// and is addressed by the sequence stride of the views.
struct Segments {
  const int64_t* starts = nullptr;
  int64_t rows = 0;

  int64_t begin(int64_t s) const { return starts ? starts[s] : 0; }
  int64_t size(int64_t s) const { return starts ? starts[s + 1] - starts[s] : rows; }
  /// First row of sequence s and head h: under packing the sequence stride is not used.
  template <class T>
  RowsView<T> at(const RowsView<T>& view, int64_t s, int64_t h) const {
    RowsView<T> out = view;
    out.data = starts ? view.row(0, h, starts[s]) : view.row(s, h, 0);
    return out;
  }
};

}  // namespace longspan
