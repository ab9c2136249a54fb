// One hop: the next state of a head from the last one. And rows of states in memory.
//
// Per-target header: include it between the per-target guards of a file that uses <hwy/foreach_target.h>.
#if defined(LONGSPAN_KERNELS_DIFFUSION_HOP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LONGSPAN_KERNELS_DIFFUSION_HOP_INL_H_
#undef LONGSPAN_KERNELS_DIFFUSION_HOP_INL_H_
#else
#define LONGSPAN_KERNELS_DIFFUSION_HOP_INL_H_
#endif

#include <hwy/highway.h>

#include "longspan/kernels/diffusion/drop-inl.h"
#include "longspan/kernels/diffusion/mix-inl.h"

HWY_BEFORE_NAMESPACE();
namespace longspan::kernels::diffusion::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace panel = simd::HWY_NAMESPACE;

/// x[row] = a x[row] + b y[row]; returns whether the row is finite then. A zero comes out as +0: a hole may have left
/// -0 where no hole leaves +0, and bits must not tell.
template <class T>
HWY_INLINE bool combine_row(const Panel<T>& x, T a, const Panel<T>& y, T b, int64_t row) {
  const panel::TileTag<T> d;
  constexpr int64_t N = panel::Blocking<T>::lanes;
  const auto zero = hn::Zero(d);
  auto check = zero;
  for (int64_t chunk = 0; chunk < panel::chunk_count(x.width()); ++chunk) {
    T* to = x.row(row) + chunk * x.stride();
    const T* from = y.row(row) + chunk * y.stride();
    for (int64_t c = 0; c < panel::chunk_width(x.width(), chunk); c += N) {
      const auto scaled = hn::MulAdd(hn::Load(d, from + c), hn::Set(d, b), zero);
      const auto sum = hn::Add(hn::MulAdd(hn::Load(d, to + c), hn::Set(d, a), scaled), zero);
      check = hn::MulAdd(sum, zero, check);
      hn::Store(sum, d, to + c);
    }
  }
  return hn::AllTrue(d, hn::Eq(check, zero));
}

/// The states of tokens before first_row, where there are any, from `memory` [rows][Dv].
template <class S, class T>
void load_past(const Head<S>& head, const T* memory, Panel<T>& x) {
  const int64_t width = x.width();
  for (int64_t row = 0; row < head.layout.first_row(); ++row)
    x.see(panel::pack_rows(memory + row * width, width, width, 1, x.row(0), x.stride(), row));
}

/// z becomes the state before the first hop.
template <class S, class T>
void first_state(const Head<S>& head, const Panel<T>& values, const T* past, Panel<T>& z) {
  head.scale_rows(values, head.start(), z);
  if (past == nullptr || head.layout.first_row() == 0) return;
  load_past(head, past, z);
  head.copy_columns(z);
}

/// next = the state after hop `hop` of the state z. weights_of(strip): the weights of the hop; written(row, token)
/// after each new row; `past`: see load_past(), or nullptr.
template <class S, class T, class WeightsOf, class Written>
void advance(const Head<S>& head, int64_t hop, const WeightsOf& weights_of, const Panel<T>& values, const T* past,
             const Panel<T>& z, Panel<T>& next, const Written& written) {
  const TileLayout& layout = head.layout;
  next.reshape(layout.rows(), z.width());
  head.zero_gaps(next, layout.first_row());
  for (const Strip& strip : head.planned.strips)
    mix(head, weights_of(strip), z, next, [&](int64_t tile, int) HWY_ATTR {
      for (int64_t lane = 0; lane < kLanes; ++lane) {
        if (!layout.alive(tile, lane)) continue;
        const int64_t row = layout.row(tile) + lane, token = layout.token(row);
        next.see(combine_row(next, head.carry(hop), values, head.source(hop), row));
        if (head.params.hop_dropout.active()) drop_features(head, next, row, token, hop);
        written(row, token);
      }
    });
  for (int64_t a = 0; a < layout.dense_rows(); ++a) copy_row(next, layout.dense_row(a), next, layout.dense_token(a));
  if (past != nullptr) load_past(head, past, next);
  head.copy_columns(next);
}

}  // namespace longspan::kernels::diffusion::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
