#include "longspan/kernels/memory/basis.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "longspan/kernels/memory/basis.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace longspan::kernels::memory::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// to[k][i] = from[i][k] for i < rows and k < columns, by squares of one 128-bit vector. A stream packs the basis for
/// every token, so this counts.
template <class T>
void transpose(const T* from, int64_t rows, int64_t columns, T* to, int64_t to_stride) {
  const hn::Full128<T> d;
  constexpr int64_t kSide = 16 / sizeof(T);
  const int64_t full_rows = rows / kSide * kSide, full_columns = columns / kSide * kSide;
  for (int64_t k = 0; k < full_columns; k += kSide)
    for (int64_t i = 0; i < full_rows; i += kSide) {
      const T* x = from + i * columns + k;
      T* y = to + k * to_stride + i;
      const auto a = hn::LoadU(d, x), b = hn::LoadU(d, x + columns);
      if constexpr (kSide == 2) {
        hn::StoreU(hn::InterleaveLower(d, a, b), d, y);
        hn::StoreU(hn::InterleaveUpper(d, a, b), d, y + to_stride);
      } else {
        const auto c = hn::LoadU(d, x + 2 * columns), e = hn::LoadU(d, x + 3 * columns);
        const auto ac = hn::InterleaveLower(d, a, c), be = hn::InterleaveLower(d, b, e);
        hn::StoreU(hn::InterleaveLower(d, ac, be), d, y);
        hn::StoreU(hn::InterleaveUpper(d, ac, be), d, y + to_stride);
        const auto ac_high = hn::InterleaveUpper(d, a, c), be_high = hn::InterleaveUpper(d, b, e);
        hn::StoreU(hn::InterleaveLower(d, ac_high, be_high), d, y + 2 * to_stride);
        hn::StoreU(hn::InterleaveUpper(d, ac_high, be_high), d, y + 3 * to_stride);
      }
    }
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t k = i < full_rows ? full_columns : 0; k < columns; ++k) to[k * to_stride + i] = from[i * columns + k];
}

void transpose_f32(const float* from, int64_t rows, int64_t columns, float* to, int64_t to_stride) {
  transpose(from, rows, columns, to, to_stride);
}
void transpose_f64(const double* from, int64_t rows, int64_t columns, double* to, int64_t to_stride) {
  transpose(from, rows, columns, to, to_stride);
}

}  // namespace longspan::kernels::memory::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>

namespace longspan::kernels::memory {
namespace {

HWY_EXPORT(transpose_f32);
HWY_EXPORT(transpose_f64);

void transpose(const float* from, int64_t rows, int64_t columns, float* to, int64_t to_stride) {
  HWY_DYNAMIC_DISPATCH(transpose_f32)(from, rows, columns, to, to_stride);
}
void transpose(const double* from, int64_t rows, int64_t columns, double* to, int64_t to_stride) {
  HWY_DYNAMIC_DISPATCH(transpose_f64)(from, rows, columns, to, to_stride);
}

}  // namespace

template <class T>
void Basis<T>::load(const T* basis) {
  if (basis == loaded_) return;
  loaded_ = basis;
  const int64_t stride = transposed_stride(), wide = rows_stride();
  transpose(basis, slots_, width_, transposed_.data(), stride);
  if (slots_ < stride)
    for (int64_t k = 0; k < width_; ++k)
      std::fill(transposed_.data() + k * stride + slots_, transposed_.data() + (k + 1) * stride, T(0));
  if (width_ == wide) {
    rows_ = basis;
    return;
  }
  for (int64_t i = 0; i < slots_; ++i) {
    T* row = copy_.data() + i * wide;
    std::copy_n(basis + i * width_, width_, row);
    std::fill(row + width_, row + wide, T(0));
  }
  rows_ = copy_.data();
}

template class Basis<float>;
template class Basis<double>;

}  // namespace longspan::kernels::memory
#endif  // HWY_ONCE
