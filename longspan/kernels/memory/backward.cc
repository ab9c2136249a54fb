// Backward of orthogonal memory within a chunk: everything but the inputs is recomputed, tile by tile.
#include "longspan/kernels/memory/memory.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "longspan/kernels/memory/backward.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "longspan/kernels/memory/accumulator.h"
#include "longspan/kernels/memory/backward.h"
#include "longspan/kernels/memory/read-inl.h"
#include "longspan/kernels/memory/rows-inl.h"
#include "longspan/kernels/memory/scan-inl.h"
#include "longspan/simd/gemm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace longspan::kernels::memory::HWY_NAMESPACE {

/// dq = B^T da.
template <class T>
HWY_NOINLINE void query_gradient(const GradientRun<T>& run, int64_t row, int64_t rows, BackwardScratch<T>& s) {
  const int64_t stride = padded(run.slots), wide = padded(run.width);
  if (run.dq.wide)
    return sn::MultiplyPanel(rows, run.slots, run.width, s.da.data(), stride, s.basis.rows(), wide,
                             run.dq.wide + row * run.dq.stride, run.dq.stride);
  sn::MultiplyPanel(rows, run.slots, run.width, s.da.data(), stride, s.basis.rows(), wide, s.tile.data(), wide);
  store_rows<T>(s.tile.data(), wide, rows, run.width, nullptr, run.dq, row);
}

/// dz from dh, and what the rows ask of those before them.
template <class T>
HWY_NOINLINE void slot_gradient(const GradientRun<T>& run, int64_t rows, const double* inverse, BackwardScratch<T>& s) {
  const int64_t stride = padded(run.slots), slots = whole_vectors<T>(run.slots);
  if (run.window > 0)
    suffix_windows(rows, slots, s.du.data(), stride, inverse, s.suffix.data(), s.pending.data(), s.dz.data());
  else
    suffix_rows(rows, slots, s.du.data(), stride, inverse, s.suffix.data(), s.dz.data());
}

/// The tile's rows of dm = B^T dz, added up over the heads of the group.
template <class T>
HWY_NOINLINE void feature_gradient(const GradientRun<T>& run, int64_t row, int64_t rows, BackwardScratch<T>& s) {
  const int64_t stride = padded(run.slots), wide = padded(run.width);
  T* dm = s.dm.data() + row * wide;
  T* out = run.first_of_group ? dm : s.tile.data();
  sn::MultiplyPanel(rows, run.slots, run.width, s.dz.data(), stride, s.basis.rows(), wide, out, wide);
  if (run.first_of_group) return;
  for (int64_t t = 0; t < rows; ++t) copy_rows<T>(dm + t * wide, 0, 1, run.width, out + t * wide, dm + t * wide, 0);
}

/// Gradients of one tile, given its memories h: dq, the tile's part of the sum over the chunk's dbasis, and, causal,
/// dm.
template <class T>
HWY_NOINLINE void gradient_tile(const GradientRun<T>& run, int64_t row, int64_t rows, const T* h, int64_t h_stride,
                                const double* inverse, BackwardScratch<T>& s) {
  const int64_t stride = padded(run.slots), wide = padded(run.width);
  const int64_t slots = whole_vectors<T>(run.slots), columns = whole_vectors<T>(run.width);
  const bool causal = run.h == nullptr;
  load_rows(run.q, row, rows, run.width, s.q.data(), wide);
  load_rows(run.dout, row, rows, run.width, s.g.data(), wide);
  sn::MultiplyPanel(rows, run.width, slots, s.q.data(), wide, s.basis.transposed(), stride, s.a.data(), stride, nullptr,
                    rows_ahead(run.q, row - kTile, row));
  sn::MultiplyPanel(rows, run.width, slots, s.g.data(), wide, s.basis.transposed(), stride, s.du.data(), stride,
                    nullptr, rows_ahead(run.dout, row - kTile, row));
  const T* factors = nullptr;
  if (run.dropout.active()) {
    dropout_rows(run.dropout, rows, stride, run.count + row, s.factors.data());
    factors = s.factors.data();
  }
  read_rows_backward(rows, run.slots, stride, static_cast<T>(run.scale), s.a.data(), h, h_stride, factors, s.du.data(),
                     s.u.data(), s.da.data());
  if (causal) slot_gradient(run, rows, inverse, s);
  if (run.sums_alone) return;
  query_gradient(run, row, rows, s);
  sn::OuterTerm<T> terms[3] = {{s.u.data(), s.g.data()}, {s.da.data(), s.q.data()}, {s.dz.data(), s.m.data()}};
  if (causal) {
    feature_gradient(run, row, rows, s);
    load_rows(run.m, row, rows, run.width, s.m.data(), wide);
  } else {
    add_rows<Accumulator::float64>(rows, slots, s.du.data(), stride, s.suffix.data());
  }
  sn::AccumulateOuter(rows, run.slots, columns, terms, causal ? 3 : 2, stride, wide, s.dbasis.data(), wide);
}

/// The memories of the chunk's rows, into s.h.
template <class T>
HWY_NOINLINE void recompute_memories(const GradientRun<T>& run, const double* inverse, BackwardScratch<T>& s) {
  const int64_t stride = padded(run.slots), slots = whole_vectors<T>(run.slots);
  // The scan adds to whole vectors: what another sequence left behind the last slot, perhaps NaN, goes too.
  const auto load = [&](const double* from, AlignedBuffer<double>& to) {
    std::fill_n(to.data(), stride, 0.0);
    if (from) std::copy_n(from, run.slots, to.data());
  };
  load(run.closed, s.closed);
  load(run.open, s.open);
  load(run.visible, s.visible);
  for (int64_t row = 0; row < run.rows; row += kTile) {
    const int64_t rows = HWY_MIN(run.rows - row, kTile);
    T* h = s.h.data() + row * stride;
    const Tile<T> m = computed_rows(run.m, row, rows, run.width, s.m.data());
    sn::MultiplyPanel(rows, run.width, slots, m.data, m.stride, s.basis.transposed(), stride, h, stride, nullptr,
                      rows_ahead(run.m, row + rows, run.rows));
    if (run.window > 0)
      scan_windows<Accumulator::float64>(rows, slots, h, stride, inverse + row, s.closed.data(), s.open.data(),
                                         s.visible.data(), h);
    else
      scan_rows<Accumulator::float64>(rows, slots, h, stride, inverse + row, s.closed.data(), s.open.data(), h);
  }
}

template <class T>
void gradient_chunk(const GradientRun<T>& run, BackwardScratch<T>& s) {
  const int64_t stride = padded(run.slots);
  std::fill_n(s.suffix.data(), stride, 0.0);
  std::fill_n(s.pending.data(), stride, 0.0);
  std::fill_n(s.dbasis.data(), s.dbasis.size(), T(0));
  HWY_ALIGN double inverse[kMemoryChunk];
  const bool causal = run.h == nullptr;
  if (causal) {
    inverse_counts(run.rows, run.count, run.window, inverse);
    recompute_memories(run, inverse, s);
  }
  for (int64_t row = (run.rows - 1) / kTile * kTile; row >= 0; row -= kTile) {
    const int64_t rows = HWY_MIN(run.rows - row, kTile);
    if (causal)
      gradient_tile(run, row, rows, s.h.data() + row * stride, stride, inverse + row, s);
    else
      gradient_tile(run, row, rows, run.h, 0, nullptr, s);
  }
  std::copy_n(s.suffix.data(), run.slots, run.dsums);
  if (run.pending) std::copy_n(s.pending.data(), run.slots, run.pending);
}

void gradient_chunk_f32(const GradientRun<float>& run, BackwardScratch<float>& s) { gradient_chunk(run, s); }
void gradient_chunk_f64(const GradientRun<double>& run, BackwardScratch<double>& s) { gradient_chunk(run, s); }

}  // namespace longspan::kernels::memory::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace longspan::kernels::memory {

HWY_EXPORT(gradient_chunk_f32);
HWY_EXPORT(gradient_chunk_f64);

void chunk_gradient(const GradientRun<float>& run, BackwardScratch<float>& scratch) {
  HWY_DYNAMIC_DISPATCH(gradient_chunk_f32)(run, scratch);
}
void chunk_gradient(const GradientRun<double>& run, BackwardScratch<double>& scratch) {
  HWY_DYNAMIC_DISPATCH(gradient_chunk_f64)(run, scratch);
}

}  // namespace longspan::kernels::memory
#endif  // HWY_ONCE
