// Softmax of the scores of a tile, and its derivative.
//
// Per-target header: include it between the per-target guards of a file that uses <hwy/foreach_target.h>.
#if defined(LONGSPAN_KERNELS_DIFFUSION_SOFTMAX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LONGSPAN_KERNELS_DIFFUSION_SOFTMAX_INL_H_
#undef LONGSPAN_KERNELS_DIFFUSION_SOFTMAX_INL_H_
#else
#define LONGSPAN_KERNELS_DIFFUSION_SOFTMAX_INL_H_
#endif

#include <hwy/highway.h>

#include <limits>

#include "longspan/kernels/diffusion/tiles-inl.h"
#include "longspan/simd/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace longspan::kernels::diffusion::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace panel = simd::HWY_NAMESPACE;

/// use(lane, first, count): the weights of the rest of lane's row, from the beginning of the weights, where it has any.
template <class Use>
HWY_INLINE void for_each_rest(const TileLayout& layout, int64_t tile, const Use& use) {
  if (!layout.has_rest() || layout.is_dense(tile)) return;
  const CsrView& rest = layout.pattern().rest;
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    const int64_t i = layout.row(tile) + lane;
    if (i < layout.first_row() || i >= layout.tokens() || rest.begin[i] == rest.begin[i + 1]) continue;
    use(lane, layout.rest_weight(i, rest.begin[i]), rest.begin[i + 1] - rest.begin[i]);
  }
}

/// to[x] = f(vector from[x]) for x in [0, count); f is given `fill` behind the end.
template <class T, class F>
HWY_INLINE void map_row(T* row, int64_t count, const F& f) {
  const panel::TileTag<T> d;
  constexpr int64_t N = panel::Blocking<T>::lanes;
  int64_t x = 0;
  for (; x + N <= count; x += N) hn::StoreU(f(hn::LoadU(d, row + x), hn::FirstN(d, N)), d, row + x);
  if (x < count)
    panel::StoreN(d, f(panel::LoadN(d, row + x, count - x), hn::FirstN(d, static_cast<size_t>(count - x))), row + x,
                  count - x);
}

/// Scores (times log2 e) in `weights` become weights that sum to one in each row, zero for a row without a finite
/// score; lse[lane] = log of the sum of exponentials. `maxima`: of the runs of each lane.
template <class T>
HWY_NOINLINE void softmax_tile(const TileLayout& layout, int64_t tile, T* weights, T* maxima, T* lse) {
  const panel::TileTag<T> d;
  using V = hn::Vec<panel::TileTag<T>>;
  constexpr int64_t N = panel::Blocking<T>::lanes;
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  const V minus_infinity = hn::Set(d, -kInfinity);
  for_each_rest(layout, tile, [&](int64_t lane, int64_t first, int64_t count) HWY_ATTR {
    V maximum = minus_infinity;
    map_row(weights + first, count, [&](V x, auto inside) HWY_ATTR {
      maximum = hn::Max(maximum, hn::IfThenElse(inside, x, minus_infinity));
      return x;
    });
    maxima[lane] = std::max(maxima[lane], hn::GetLane(hn::MaxOfLanes(d, maximum)));
  });
  // A lane without a finite score keeps weights of zero, e^(-infinity - 0). NaN may hide in a maximum or have been
  // passed over: the sum keeps it.
  for (int64_t lane = 0; lane < kLanes; ++lane)
    if (maxima[lane] == -kInfinity || maxima[lane] != maxima[lane]) maxima[lane] = 0;

  HWY_ALIGN T sums[kLanes];
  HWY_ALIGN T inverse[kLanes];
  T* const begin = weights + layout.offset(tile);
  T* const end = weights + layout.runs_end(tile);
  for (int64_t lane = 0; lane < kLanes; lane += N) {
    const V maximum = hn::Load(d, maxima + lane);
    V sum = hn::Zero(d);
    for (T* w = begin + lane; w < end; w += kLanes) {
      const V e = panel::Exp2(d, hn::Sub(hn::Load(d, w), maximum));
      hn::Store(e, d, w);
      sum = hn::Add(sum, e);
    }
    hn::Store(sum, d, sums + lane);
  }
  for_each_rest(layout, tile, [&](int64_t lane, int64_t first, int64_t count) HWY_ATTR {
    const V maximum = hn::Set(d, maxima[lane]);
    V sum = hn::Zero(d);
    map_row(weights + first, count, [&](V x, auto inside) HWY_ATTR {
      const V e = panel::Exp2(d, hn::Sub(x, maximum));
      sum = hn::Add(sum, hn::IfThenElseZero(inside, e));
      return e;
    });
    sums[lane] += hn::GetLane(hn::SumOfLanes(d, sum));
  });
  for (int64_t lane = 0; lane < kLanes; lane += N) {
    const V sum = hn::Load(d, sums + lane);
    const auto none = hn::Eq(sum, hn::Zero(d));
    hn::Store(hn::IfThenZeroElse(none, hn::Div(hn::Set(d, T(1)), sum)), d, inverse + lane);
    // The logarithm is one of numbers; the sum may be none.
    const V log = hn::Add(panel::Log(d, sum), hn::Sub(sum, sum));
    const V value = hn::MulAdd(hn::Load(d, maxima + lane), hn::Set(d, static_cast<T>(panel::kLn2)), log);
    hn::Store(hn::IfThenElse(none, minus_infinity, value), d, lse + lane);
  }
  for (int64_t lane = 0; lane < kLanes; lane += N) {
    const V factor = hn::Load(d, inverse + lane);
    for (T* w = begin + lane; w < end; w += kLanes) {
      const V e = hn::Load(d, w);
      // A hole stays one, whatever its row.
      hn::Store(hn::IfThenZeroElse(hn::Eq(e, hn::Zero(d)), hn::Mul(e, factor)), d, w);
    }
  }
  for_each_rest(layout, tile, [&](int64_t lane, int64_t first, int64_t count) HWY_ATTR {
    const V factor = hn::Set(d, inverse[lane]);
    map_row(weights + first, count, [&](V e, auto) HWY_ATTR { return hn::Mul(e, factor); });
  });
}

/// dots becomes the gradient of the scores: dots = weights (dots - sum over the row of weights dots).
template <class T>
HWY_NOINLINE void softmax_gradient_tile(const TileLayout& layout, int64_t tile, const T* weights, T* dots) {
  const panel::TileTag<T> d;
  using V = hn::Vec<panel::TileTag<T>>;
  constexpr int64_t N = panel::Blocking<T>::lanes;
  HWY_ALIGN T sums[kLanes];
  const int64_t begin = layout.offset(tile), end = layout.runs_end(tile);
  // Holes have weight zero, and dots that may be anything.
  const auto product = [&](V weight, V dot)
                           HWY_ATTR { return hn::IfThenZeroElse(hn::Eq(weight, hn::Zero(d)), hn::Mul(weight, dot)); };
  for (int64_t lane = 0; lane < kLanes; lane += N) {
    V sum = hn::Zero(d);
    for (int64_t x = begin + lane; x < end; x += kLanes)
      sum = hn::Add(sum, product(hn::Load(d, weights + x), hn::Load(d, dots + x)));
    hn::Store(sum, d, sums + lane);
  }
  for_each_rest(layout, tile, [&](int64_t lane, int64_t first, int64_t count) HWY_ATTR {
    const T* weight = weights + first;
    V sum = hn::Zero(d);
    int64_t x = 0;
    for (; x + N <= count; x += N)
      sum = hn::Add(sum, product(hn::LoadU(d, weight + x), hn::LoadU(d, dots + first + x)));
    if (x < count)
      sum = hn::Add(sum, product(panel::LoadN(d, weight + x, count - x), panel::LoadN(d, dots + first + x, count - x)));
    sums[lane] += hn::GetLane(hn::SumOfLanes(d, sum));
  });
  for (int64_t lane = 0; lane < kLanes; lane += N) {
    const V sum = hn::Load(d, sums + lane);
    for (int64_t x = begin + lane; x < end; x += kLanes)
      hn::Store(product(hn::Load(d, weights + x), hn::Sub(hn::Load(d, dots + x), sum)), d, dots + x);
  }
  for_each_rest(layout, tile, [&](int64_t lane, int64_t first, int64_t count) HWY_ATTR {
    const V sum = hn::Set(d, sums[lane]);
    const T* weight = weights + first;
    int64_t x = 0;
    map_row(dots + first, count, [&](V dot, auto) HWY_ATTR {
      const V w = x + N <= count ? hn::LoadU(d, weight + x) : panel::LoadN(d, weight + x, count - x);
      x += N;
      return product(w, hn::Sub(dot, sum));
    });
  });
}

}  // namespace longspan::kernels::diffusion::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
