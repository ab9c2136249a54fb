// The read of a tile of queries: softmax over slots, and its gradient. Lanes run over slots; every pass treats a row
// by itself, and a pass over all rows before the next one hides the latency of the reductions.
#if defined(LONGSPAN_KERNELS_MEMORY_READ_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LONGSPAN_KERNELS_MEMORY_READ_INL_H_
#undef LONGSPAN_KERNELS_MEMORY_READ_INL_H_
#else
#define LONGSPAN_KERNELS_MEMORY_READ_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "longspan/kernels/memory/plan.h"
#include "longspan/simd/dropout-inl.h"
#include "longspan/simd/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace longspan::kernels::memory::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace sn = longspan::simd::HWY_NAMESPACE;

/// The mask of the lanes of the last vector of `slots` that are slots: padding takes no part in the softmax.
template <class D>
HWY_INLINE hn::Mask<D> last_slots(D d, int64_t slots) {
  const int64_t lanes = hn::MaxLanes(d);
  return hn::FirstN(d, static_cast<size_t>((slots - 1) % lanes + 1));
}

/// p = softmax(scale a o h) by rows, up to the factor 1 / sum: e to `e` (which may be a), 1 / sum to inverse_sum.
/// h_stride 0: one memory row for all queries.
template <class T>
HWY_NOINLINE void softmax_rows(int64_t rows, int64_t slots, int64_t stride, T scale, const T* a, const T* h,
                               int64_t h_stride, T* e, T* inverse_sum) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kLanes = hn::MaxLanes(d);
  const int64_t last = (slots - 1) / kLanes * kLanes;
  const auto mask = last_slots(d, slots);
  const auto factor = hn::Set(d, scale * static_cast<T>(sn::kLog2E));  // the exponential is one of base 2
  const auto lowest = hn::Set(d, hwy::LowestValue<T>());
  HWY_ALIGN T highest[kTile];
  for (int64_t t = 0; t < rows; ++t) {
    const T* a_row = a + t * stride;
    const T* h_row = h + t * h_stride;
    T* e_row = e + t * stride;
    auto top = lowest;
    for (int64_t i = 0; i < last; i += kLanes) {
      const auto s = hn::Mul(factor, hn::Mul(hn::Load(d, a_row + i), hn::Load(d, h_row + i)));
      hn::Store(s, d, e_row + i);
      top = hn::Max(top, s);
    }
    const auto s = hn::Mul(factor, hn::Mul(hn::Load(d, a_row + last), hn::Load(d, h_row + last)));
    hn::Store(s, d, e_row + last);
    top = hn::Max(top, hn::IfThenElse(mask, s, lowest));
    highest[t] = hn::GetLane(hn::MaxOfLanes(d, top));
  }
  for (int64_t t = 0; t < rows; ++t) {
    T* e_row = e + t * stride;
    const auto top = hn::Set(d, highest[t]);
    auto sum = hn::Zero(d);
    for (int64_t i = 0; i < last; i += kLanes) {
      const auto v = sn::Exp2(d, hn::Sub(hn::Load(d, e_row + i), top));
      hn::Store(v, d, e_row + i);
      sum = hn::Add(sum, v);
    }
    const auto v = hn::IfThenElseZero(mask, sn::Exp2(d, hn::Sub(hn::Load(d, e_row + last), top)));
    hn::Store(v, d, e_row + last);
    inverse_sum[t] = T(1) / hn::GetLane(hn::SumOfLanes(d, hn::Add(sum, v)));
  }
}

/// factors [rows][stride] = 1 / (1 - p) where dropout keeps a slot's weight, else 0, for the rows from `position` on.
/// Writes whole vectors, up to kTile rows. The bits are those of base/dropout.h.
template <class T>
HWY_NOINLINE void dropout_rows(const HeadDropout& dropout, int64_t rows, int64_t stride, int64_t position, T* factors) {
  const hn::ScalableTag<uint32_t> du;
  constexpr int64_t kLanes = hn::MaxLanes(du);
  HWY_ALIGN uint32_t row[kLanes], group[kLanes], words[4 * kLanes];
  const auto kept = static_cast<T>(dropout.scale());
  const uint32_t threshold = dropout.threshold();
  const int64_t groups = stride / 4;
  for (int64_t first = 0; first < rows * groups; first += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      row[lane] = static_cast<uint32_t>(position + (first + lane) / groups);
      group[lane] = static_cast<uint32_t>((first + lane) % groups);
    }
    hn::Vec<decltype(du)> word[4] = {hn::Load(du, row), hn::Load(du, group),
                                     hn::Set(du, static_cast<uint32_t>(dropout.head)),
                                     hn::Set(du, static_cast<uint32_t>(dropout.row))};
    sn::Philox4x32(du, word, static_cast<uint32_t>(dropout.seed), static_cast<uint32_t>(dropout.seed >> 32));
    hn::StoreInterleaved4(word[0], word[1], word[2], word[3], du, words);
    for (int64_t i = 0; i < 4 * kLanes; ++i) factors[4 * first + i] = words[i] >= threshold ? kept : T(0);
  }
}

/// a <- u = p o h with p = softmax(scale a o h), times the factors of dropout where given: the slot weights that the
/// basis expands to the output.
template <class T>
HWY_NOINLINE void read_rows(int64_t rows, int64_t slots, int64_t stride, T scale, T* a, const T* h, int64_t h_stride,
                            const T* factors) {
  const hn::ScalableTag<T> d;
  HWY_ALIGN T inverse_sum[kTile];
  softmax_rows(rows, slots, stride, scale, a, h, h_stride, a, inverse_sum);
  for (int64_t t = 0; t < rows; ++t) {
    const auto inverse = hn::Set(d, inverse_sum[t]);
    for (int64_t i = 0; i < slots; i += hn::MaxLanes(d)) {
      T* row = a + t * stride + i;
      auto p = hn::Mul(hn::Load(d, row), inverse);
      if (factors) p = hn::Mul(p, hn::Load(d, factors + t * stride + i));
      hn::Store(hn::Mul(p, hn::Load(d, h + t * h_stride + i)), d, row);
    }
  }
}

/// Gradient of read_rows. In: a, h, du. Out: u, da, and dh in place of du. With k the factors of dropout, else 1:
///     u = k o p o h;  dp = k o du o h;  ds = p o (dp - sum(p o dp));  da = scale ds o h;  dh = k o du o p + scale ds o
///     a
template <class T>
HWY_NOINLINE void read_rows_backward(int64_t rows, int64_t slots, int64_t stride, T scale, const T* a, const T* h,
                                     int64_t h_stride, const T* factors, T* du, T* u, T* da) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kLanes = hn::MaxLanes(d);
  const auto factor = hn::Set(d, scale);
  HWY_ALIGN T inverse_sum[kTile];
  HWY_ALIGN T mean[kTile];  // sum(p o dp)
  const int64_t last = (slots - 1) / kLanes * kLanes;
  const auto mask = last_slots(d, slots);
  softmax_rows(rows, slots, stride, scale, a, h, h_stride, da, inverse_sum);
  for (int64_t t = 0; t < rows; ++t) {
    T* p_row = da + t * stride;
    const auto inverse = hn::Set(d, inverse_sum[t]);
    auto sum = hn::Zero(d);
    const auto weigh = [&](int64_t i, auto memory, auto grad) HWY_ATTR {
      const auto p = hn::Mul(hn::Load(d, p_row + i), inverse);
      hn::Store(p, d, p_row + i);
      if (factors) {
        const auto kept = hn::Load(d, factors + t * stride + i);
        grad = hn::Mul(grad, kept);
        hn::Store(grad, d, du + t * stride + i);
        hn::Store(hn::Mul(hn::Mul(p, kept), memory), d, u + t * stride + i);
        sum = hn::MulAdd(hn::Mul(p, memory), grad, sum);
      } else {
        const auto weight = hn::Mul(p, memory);
        hn::Store(weight, d, u + t * stride + i);
        sum = hn::MulAdd(weight, grad, sum);
      }
    };
    const T* h_row = h + t * h_stride;
    const T* du_row = du + t * stride;
    for (int64_t i = 0; i < last; i += kLanes) weigh(i, hn::Load(d, h_row + i), hn::Load(d, du_row + i));
    // The padding of p is 0, which times a padding that is not finite would not be.
    weigh(last, hn::IfThenElseZero(mask, hn::Load(d, h_row + last)),
          hn::IfThenElseZero(mask, hn::Load(d, du_row + last)));
    mean[t] = hn::GetLane(hn::SumOfLanes(d, sum));
  }
  for (int64_t t = 0; t < rows; ++t) {
    const auto center = hn::Set(d, mean[t]);
    for (int64_t i = 0; i < slots; i += kLanes) {
      const int64_t at = t * stride + i;
      const auto memory = hn::Load(d, h + t * h_stride + i);
      const auto p = hn::Load(d, da + at);
      const auto grad = hn::Load(d, du + at);  // k o du
      const auto ds = hn::Mul(factor, hn::Mul(p, hn::Sub(hn::Mul(grad, memory), center)));
      hn::Store(hn::Mul(ds, memory), d, da + at);
      hn::Store(hn::MulAdd(ds, hn::Load(d, a + at), hn::Mul(grad, p)), d, du + at);
    }
  }
}

}  // namespace longspan::kernels::memory::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
