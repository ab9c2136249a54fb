// Forward of orthogonal memory: tiles of kTile rows go through projection, scan, softmax and expansion in one pass.
#include "longspan/kernels/memory/memory.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "longspan/kernels/memory/forward.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "longspan/kernels/memory/accumulator.h"
#include "longspan/kernels/memory/forward.h"
#include "longspan/kernels/memory/read-inl.h"
#include "longspan/kernels/memory/rows-inl.h"
#include "longspan/kernels/memory/scan-inl.h"
#include "longspan/simd/gemm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace longspan::kernels::memory::HWY_NAMESPACE {

/// out = B^T (softmax(scale (B q) o h) o h) for a tile of rows.
template <class T>
HWY_NOINLINE void read_tile(int64_t rows, const ReadRun<T>& run, int64_t row, const T* h, int64_t h_stride,
                            ForwardScratch<T>& scratch) {
  const Basis<T>& basis = scratch.basis;
  const int64_t stride = padded(run.slots);
  T* a = scratch.a.data();
  const Tile<T> q = computed_rows(run.q, row, rows, run.width, scratch.rows.data());
  sn::MultiplyPanel(rows, run.width, whole_vectors<T>(run.slots), q.data, q.stride, basis.transposed(), stride, a,
                    stride, nullptr, rows_ahead(run.q, row + rows, run.rows));
  const T* factors = nullptr;
  if (run.dropout.active()) {
    dropout_rows(run.dropout, rows, stride, run.count + row, scratch.factors.data());
    factors = scratch.factors.data();
  }
  read_rows(rows, run.slots, stride, static_cast<T>(run.scale), a, h, h_stride, factors);
  if (run.out.wide) {
    sn::MultiplyPanel(rows, run.slots, run.width, a, stride, basis.rows(), basis.rows_stride(),
                      run.out.wide + row * run.out.stride, run.out.stride);
  } else {
    T* out = scratch.rows.data();
    sn::MultiplyPanel(rows, run.slots, run.width, a, stride, basis.rows(), basis.rows_stride(), out, padded(run.width));
    store_rows<T>(out, padded(run.width), rows, run.width, nullptr, run.out, row);
  }
}

template <class T>
HWY_NOINLINE void project_tile(int64_t rows, const ReadRun<T>& run, int64_t row, ForwardScratch<T>& scratch) {
  const Tile<T> m = computed_rows(run.m, row, rows, run.width, scratch.rows.data());
  sn::MultiplyPanel(rows, run.width, whole_vectors<T>(run.slots), m.data, m.stride, scratch.basis.transposed(),
                    padded(run.slots), scratch.z.data(), padded(run.slots), nullptr,
                    rows_ahead(run.m, row + rows, run.rows));
}

/// From the projections of a tile to the memories of its rows, in place.
template <class T>
HWY_NOINLINE void scan_tile(int64_t rows, int64_t count, const ReadRun<T>& run, ForwardScratch<T>& scratch) {
  const int64_t stride = padded(run.slots);
  double* closed = scratch.closed.data();
  double* open = scratch.open.data();
  T* z = scratch.z.data();
  HWY_ALIGN double inverse[kTile];
  inverse_counts(rows, count, run.window, inverse);
  dispatch_accumulator(run.accumulator, [&](auto kind) HWY_ATTR {
    if (run.window > 0)
      scan_windows<decltype(kind)::value>(rows, stride, z, stride, inverse, closed, open, scratch.visible.data(), z);
    else
      scan_rows<decltype(kind)::value>(rows, stride, z, stride, inverse, closed, open, z);
  });
}

template <class T>
void causal_run(const ReadRun<T>& run, ForwardScratch<T>& scratch) {
  const int64_t stride = padded(run.slots);
  int64_t count = run.count;
  for (int64_t row = 0; row < run.rows;) {
    const int64_t left = HWY_MIN(run.rows - row, kMemoryChunk - count % kMemoryChunk);
    const int64_t rows = HWY_MIN(left, kTile);
    project_tile(rows, run, row, scratch);
    scan_tile(rows, count, run, scratch);
    read_tile(rows, run, row, scratch.z.data(), stride, scratch);
    row += rows;
    count += rows;
    if (count % kMemoryChunk == 0) {
      add_sums(run.accumulator, run.slots, scratch.closed.data(), stride, scratch.open.data(), stride);
      std::fill_n(scratch.open.data(), scratch.open.size(), 0.0);
    }
  }
}

template <class T>
void sum_run(const ReadRun<T>& run, ForwardScratch<T>& scratch) {
  const int64_t stride = padded(run.slots);
  for (int64_t row = 0; row < run.rows; row += kTile) {
    const int64_t rows = HWY_MIN(run.rows - row, kTile);
    project_tile(rows, run, row, scratch);
    dispatch_accumulator(run.accumulator, [&](auto kind) HWY_ATTR {
      add_rows<decltype(kind)::value>(rows, stride, scratch.z.data(), stride, scratch.open.data());
    });
  }
}

template <class T>
void full_run(const ReadRun<T>& run, ForwardScratch<T>& scratch) {
  for (int64_t row = 0; row < run.rows; row += kTile)
    read_tile(HWY_MIN(run.rows - row, kTile), run, row, run.h, 0, scratch);
}

void causal_run_f32(const ReadRun<float>& run, ForwardScratch<float>& scratch) { causal_run(run, scratch); }
void causal_run_f64(const ReadRun<double>& run, ForwardScratch<double>& scratch) { causal_run(run, scratch); }
void sum_run_f32(const ReadRun<float>& run, ForwardScratch<float>& scratch) { sum_run(run, scratch); }
void sum_run_f64(const ReadRun<double>& run, ForwardScratch<double>& scratch) { sum_run(run, scratch); }
void full_run_f32(const ReadRun<float>& run, ForwardScratch<float>& scratch) { full_run(run, scratch); }
void full_run_f64(const ReadRun<double>& run, ForwardScratch<double>& scratch) { full_run(run, scratch); }

}  // namespace longspan::kernels::memory::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace longspan::kernels::memory {

HWY_EXPORT(causal_run_f32);
HWY_EXPORT(causal_run_f64);
HWY_EXPORT(sum_run_f32);
HWY_EXPORT(sum_run_f64);
HWY_EXPORT(full_run_f32);
HWY_EXPORT(full_run_f64);

void read_causal(const ReadRun<float>& run, ForwardScratch<float>& s) { HWY_DYNAMIC_DISPATCH(causal_run_f32)(run, s); }
void read_causal(const ReadRun<double>& run, ForwardScratch<double>& s) {
  HWY_DYNAMIC_DISPATCH(causal_run_f64)(run, s);
}
void add_projections(const ReadRun<float>& run, ForwardScratch<float>& s) { HWY_DYNAMIC_DISPATCH(sum_run_f32)(run, s); }
void add_projections(const ReadRun<double>& run, ForwardScratch<double>& s) {
  HWY_DYNAMIC_DISPATCH(sum_run_f64)(run, s);
}
void read_full(const ReadRun<float>& run, ForwardScratch<float>& s) { HWY_DYNAMIC_DISPATCH(full_run_f32)(run, s); }
void read_full(const ReadRun<double>& run, ForwardScratch<double>& s) { HWY_DYNAMIC_DISPATCH(full_run_f64)(run, s); }

}  // namespace longspan::kernels::memory
#endif  // HWY_ONCE
