// Tiles of rows between storage and computation.
#if defined(LONGSPAN_KERNELS_MEMORY_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LONGSPAN_KERNELS_MEMORY_ROWS_INL_H_
#undef LONGSPAN_KERNELS_MEMORY_ROWS_INL_H_
#else
#define LONGSPAN_KERNELS_MEMORY_ROWS_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <type_traits>

#include "longspan/kernels/memory/rows.h"
#include "longspan/simd/gemm-inl.h"
#include "longspan/simd/storage-inl.h"

HWY_BEFORE_NAMESPACE();
namespace longspan::kernels::memory::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace sn = longspan::simd::HWY_NAMESPACE;

/// `size` rounded up to whole vectors.
template <class T>
HWY_INLINE int64_t whole_vectors(int64_t size) {
  constexpr int64_t kLanes = hn::MaxLanes(hn::ScalableTag<T>());
  return (size + kLanes - 1) / kLanes * kLanes;
}

/// to = from [count, width] (+ addend [width]), either of T or of bfloat16. from_stride 0 repeats one row.
template <class T, class From, class To>
HWY_INLINE void copy_rows(const From* from, int64_t from_stride, int64_t count, int64_t width, const T* addend, To* to,
                          int64_t to_stride) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kLanes = hn::MaxLanes(d);
  for (int64_t t = 0; t < count; ++t) {
    const From* x = from + t * from_stride;
    To* y = to + t * to_stride;
    int64_t j = 0;
    for (; j + kLanes <= width; j += kLanes) {
      const auto v = sn::LoadFrom(d, x + j);
      sn::StoreTo(d, addend ? hn::Add(v, hn::LoadU(d, addend + j)) : v, y + j);
    }
    if (j == width) continue;
    const auto v = sn::LoadN(d, x + j, width - j);
    sn::StoreN(d, addend ? hn::Add(v, sn::LoadN(d, addend + j, width - j)) : v, y + j, width - j);
  }
}

/// Rows [row, row + count) into `to`, widened.
template <class T>
HWY_NOINLINE void load_rows(const Rows<const T>& rows, int64_t row, int64_t count, int64_t width, T* to,
                            int64_t to_stride) {
  if constexpr (std::is_same_v<T, float>)
    if (rows.narrow)
      return copy_rows<T>(rows.narrow + row * rows.stride, rows.stride, count, width, nullptr, to, to_stride);
  copy_rows<T>(rows.wide + row * rows.stride, rows.stride, count, width, nullptr, to, to_stride);
}

/// rows [row, row + count) = from (+ addend), rounded to storage.
template <class T>
HWY_NOINLINE void store_rows(const T* from, int64_t from_stride, int64_t count, int64_t width, const T* addend,
                             const Rows<T>& rows, int64_t row) {
  if constexpr (std::is_same_v<T, float>)
    if (rows.narrow)
      return copy_rows<T>(from, from_stride, count, width, addend, rows.narrow + row * rows.stride, rows.stride);
  copy_rows<T>(from, from_stride, count, width, addend, rows.wide + row * rows.stride, rows.stride);
}

/// Rows [row, row + count) as T: where they lie, or widened into `scratch` [kTile][padded(width)].
template <class T>
struct Tile {
  const T* data;
  int64_t stride;
};
template <class T>
HWY_INLINE Tile<T> computed_rows(const Rows<const T>& rows, int64_t row, int64_t count, int64_t width, T* scratch) {
  if (rows.wide) return {rows.wide + row * rows.stride, rows.stride};
  load_rows(rows, row, count, width, scratch, padded(width));
  return {scratch, padded(width)};
}

/// Up to kTile rows from `row` on that are about to be read.
template <class T>
HWY_INLINE sn::RowsAhead<T> rows_ahead(const Rows<const T>& rows, int64_t row, int64_t end) {
  if (!rows.wide || row < 0) return {};
  return {rows.wide + row * rows.stride, rows.stride, HWY_MIN(end - row, kTile)};
}

}  // namespace longspan::kernels::memory::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
