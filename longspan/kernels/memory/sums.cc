#include "longspan/kernels/memory/sums.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "longspan/kernels/memory/sums.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "longspan/base/run_tasks.h"
#include "longspan/kernels/memory/rows-inl.h"
#include "longspan/kernels/memory/scan-inl.h"
#include "longspan/simd/tail-inl.h"

HWY_BEFORE_NAMESPACE();
namespace longspan::kernels::memory::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace sn = longspan::simd::HWY_NAMESPACE;

constexpr hn::ScalableTag<double> kD;
constexpr int64_t kLanes = hn::MaxLanes(kD);

template <class M>
HWY_INLINE Doubles load_double(const M* p) {
  if constexpr (std::is_same_v<M, BFloat16>)
    return hn::PromoteTo(kD, sn::LoadFrom(hn::Rebind<float, DoubleTag>(), p));
  else
    return sn::LoadDouble(kD, p);
}
template <class M>
HWY_INLINE Doubles load_double(const M* p, int64_t n) {
  if constexpr (std::is_same_v<M, BFloat16>)
    return hn::PromoteTo(kD, sn::LoadN(hn::Rebind<float, DoubleTag>(), p, n));
  else
    return sn::LoadDoubleN(kD, p, n);
}

template <Accumulator kind, class M>
HWY_INLINE void sum_rows_as(const M* rows, int64_t row_stride, int64_t count, int64_t width, double* sums) {
  int64_t j = 0;
  for (; j + 4 * kLanes <= width; j += 4 * kLanes) {
    RunningSum<kind> sum[4];
    for (int i = 0; i < 4; ++i) sum[i].load(sums + j + i * kLanes, width);
    for (int64_t t = 0; t < count; ++t)
      for (int i = 0; i < 4; ++i) sum[i].add(load_double(rows + t * row_stride + j + i * kLanes));
    for (int i = 0; i < 4; ++i) sum[i].store(sums + j + i * kLanes, width);
  }
  for (; j < width; j += kLanes) {
    // Through a buffer of whole vectors [words][kLanes].
    HWY_ALIGN double tail[2 * kLanes] = {};
    const int64_t n = HWY_MIN(kLanes, width - j);
    const int64_t size = words(kind);
    for (int64_t word = 0; word < size; ++word) std::copy_n(sums + word * width + j, n, tail + word * kLanes);
    RunningSum<kind> sum;
    sum.load(tail, kLanes);
    for (int64_t t = 0; t < count; ++t) sum.add(load_double(rows + t * row_stride + j, n));
    sum.store(tail, kLanes);
    for (int64_t word = 0; word < size; ++word) std::copy_n(tail + word * kLanes, n, sums + word * width + j);
  }
}

template <class M>
void sum_rows(const M* rows, int64_t row_stride, int64_t count, int64_t width, Accumulator kind, double* sums) {
  dispatch_accumulator(
      kind, [&](auto chosen) HWY_ATTR { sum_rows_as<decltype(chosen)::value>(rows, row_stride, count, width, sums); });
}

template <class T>
void project(const T* basis, int64_t slots, int64_t width, const double* sums, double* out) {
  for (int64_t i = 0; i < slots; ++i) {
    auto sum = hn::Zero(kD);
    for (int64_t j = 0; j < width; j += kLanes) {
      const int64_t n = HWY_MIN(kLanes, width - j);
      sum = hn::MulAdd(sn::LoadDoubleN(kD, basis + i * width + j, n), sn::LoadN(kD, sums + j, n), sum);
    }
    out[i] = hn::GetLane(hn::SumOfLanes(kD, sum));
  }
}

template <class T>
void expand(const T* basis, int64_t slots, int64_t width, const double* weights, double* out) {
  for (int64_t j = 0; j < width; j += kLanes) {
    const int64_t n = HWY_MIN(kLanes, width - j);
    auto sum = sn::LoadN(kD, out + j, n);
    for (int64_t i = 0; i < slots; ++i)
      sum = hn::MulAdd(hn::Set(kD, weights[i]), sn::LoadDoubleN(kD, basis + i * width + j, n), sum);
    sn::StoreN(kD, sum, out + j, n);
  }
}

void add_outer(const double* weights, int64_t slots, const double* sums, int64_t width, double* acc,
               int64_t acc_stride) {
  for (int64_t i = 0; i < slots; ++i) {
    const auto factor = hn::Set(kD, weights[i]);
    double* row = acc + i * acc_stride;
    for (int64_t j = 0; j < width; j += kLanes) {
      const int64_t n = HWY_MIN(kLanes, width - j);
      sn::StoreN(kD, hn::MulAdd(factor, sn::LoadN(kD, sums + j, n), sn::LoadN(kD, row + j, n)), row + j, n);
    }
  }
}

template <class T>
void add_to(const T* x, int64_t size, double* acc) {
  for (int64_t j = 0; j < size; j += kLanes) {
    const int64_t n = HWY_MIN(kLanes, size - j);
    sn::StoreN(kD, hn::Add(sn::LoadN(kD, acc + j, n), sn::LoadDoubleN(kD, x + j, n)), acc + j, n);
  }
}

// The dispatch tables take functions, not templates.
#define LONGSPAN_MEMORY_SUM_ROWS(M, suffix)                                                                 \
  void sum_rows_##suffix(const M* rows, int64_t row_stride, int64_t count, int64_t width, Accumulator kind, \
                         double* sums) {                                                                    \
    sum_rows(rows, row_stride, count, width, kind, sums);                                                   \
  }
LONGSPAN_MEMORY_SUM_ROWS(float, f32)
LONGSPAN_MEMORY_SUM_ROWS(double, f64)
LONGSPAN_MEMORY_SUM_ROWS(BFloat16, bf16)
#undef LONGSPAN_MEMORY_SUM_ROWS
#define LONGSPAN_MEMORY_SUMS(T, suffix)                                                                       \
  void project_##suffix(const T* basis, int64_t slots, int64_t width, const double* sums, double* out) {      \
    project(basis, slots, width, sums, out);                                                                  \
  }                                                                                                           \
  void expand_##suffix(const T* basis, int64_t slots, int64_t width, const double* weights, double* out) {    \
    expand(basis, slots, width, weights, out);                                                                \
  }                                                                                                           \
  void write_rows_##suffix(const T* from, int64_t from_stride, int64_t count, int64_t width, const T* addend, \
                           const Rows<T>& rows) {                                                             \
    store_rows(from, from_stride, count, width, addend, rows, 0);                                             \
  }                                                                                                           \
  void add_to_##suffix(const T* x, int64_t size, double* acc) { add_to(x, size, acc); }
LONGSPAN_MEMORY_SUMS(float, f32)
LONGSPAN_MEMORY_SUMS(double, f64)
#undef LONGSPAN_MEMORY_SUMS

}  // namespace longspan::kernels::memory::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "longspan/base/aligned.h"
#include "longspan/kernels/memory/accumulator.h"
#include "longspan/kernels/memory/storages.h"

namespace longspan::kernels::memory {

HWY_EXPORT(add_outer);
#define LONGSPAN_MEMORY_SUM_ROWS(M, suffix)                                                                        \
  HWY_EXPORT(sum_rows_##suffix);                                                                                   \
  template <>                                                                                                      \
  void sum_rows(const M* rows, int64_t row_stride, int64_t count, int64_t width, Accumulator kind, double* sums) { \
    HWY_DYNAMIC_DISPATCH(sum_rows_##suffix)(rows, row_stride, count, width, kind, sums);                           \
  }
LONGSPAN_MEMORY_SUM_ROWS(float, f32)
LONGSPAN_MEMORY_SUM_ROWS(double, f64)
LONGSPAN_MEMORY_SUM_ROWS(BFloat16, bf16)
#undef LONGSPAN_MEMORY_SUM_ROWS
#define LONGSPAN_MEMORY_SUMS(T, suffix)                                                              \
  HWY_EXPORT(project_##suffix);                                                                      \
  HWY_EXPORT(expand_##suffix);                                                                       \
  HWY_EXPORT(write_rows_##suffix);                                                                   \
  HWY_EXPORT(add_to_##suffix);                                                                       \
  template <>                                                                                        \
  void project(const T* basis, int64_t slots, int64_t width, const double* sums, double* out) {      \
    HWY_DYNAMIC_DISPATCH(project_##suffix)(basis, slots, width, sums, out);                          \
  }                                                                                                  \
  template <>                                                                                        \
  void expand(const T* basis, int64_t slots, int64_t width, const double* weights, double* out) {    \
    HWY_DYNAMIC_DISPATCH(expand_##suffix)(basis, slots, width, weights, out);                        \
  }                                                                                                  \
  template <>                                                                                        \
  void write_rows(const T* from, int64_t from_stride, int64_t count, int64_t width, const T* addend, \
                  const Rows<T>& rows) {                                                             \
    HWY_DYNAMIC_DISPATCH(write_rows_##suffix)(from, from_stride, count, width, addend, rows);        \
  }                                                                                                  \
  template <>                                                                                        \
  void add_to(const T* x, int64_t size, double* acc) {                                               \
    HWY_DYNAMIC_DISPATCH(add_to_##suffix)(x, size, acc);                                             \
  }
LONGSPAN_MEMORY_SUMS(float, f32)
LONGSPAN_MEMORY_SUMS(double, f64)
#undef LONGSPAN_MEMORY_SUMS

void add_outer(const double* weights, int64_t slots, const double* sums, int64_t width, double* acc,
               int64_t acc_stride) {
  HWY_DYNAMIC_DISPATCH(add_outer)(weights, slots, sums, width, acc, acc_stride);
}

namespace {

/// visit(s, g, k, rows of m, number of the chunk) for every chunk of every head of features, in parallel.
template <class S, class M, class F>
void for_each_chunk(const MemoryParams<S, M>& p, const Plan& plan, const Parallel& parallel, const F& visit) {
  const int64_t heads = p.features();
  const int64_t items = static_cast<int64_t>(plan.items().size());
  const double flops = static_cast<double>(plan.total_rows()) * heads * p.width;
  run_tasks(parallel, items * heads, flops, [&](int64_t index, int) {
    const int64_t g = index / items;
    const Item& item = plan.items()[index % items];
    for (int64_t s = item.sequence_begin; s < item.sequence_end; ++s)
      for (int64_t k = item.chunk_begin; k < plan.chunk_end(item, s); ++k)
        visit(s, k, p.sources.at(p.m, s, g), g * plan.total_chunks() + plan.chunk(s, k));
  });
}

}  // namespace

template <class S, class M>
void chunk_sums(const MemoryParams<S, M>& p, const Plan& plan, const Parallel& parallel, double* sums, double* before) {
  for_each_chunk(p, plan, parallel, [&](int64_t s, int64_t k, const RowsView<const M>& m, int64_t chunk) {
    const int64_t begin = plan.chunk_row(s, k), end = plan.chunk_row(s, k + 1);
    const int64_t border = before ? begin + plan.rows_before_border(s, k, p.window) : begin;
    double* sum = sums + chunk * p.width;
    std::fill_n(sum, p.width, 0.0);
    sum_rows(m.row(0, 0, begin), m.row_stride, border - begin, p.width, Accumulator::float64, sum);
    if (before) std::copy_n(sum, p.width, before + chunk * p.width);
    sum_rows(m.row(0, 0, border), m.row_stride, end - border, p.width, Accumulator::float64, sum);
  });
}

template <class S, class M>
void full_memory(const MemoryParams<S, M>& p, Accumulator kind, const Plan& sources, const Parallel& parallel,
                 Computed<S>* means, double* totals) {
  using T = Computed<S>;
  const int64_t heads = p.features(), group = p.group();
  const int64_t size = words(kind) * p.width, stride = padded(p.slots);
  AlignedBuffer<double> sums(heads * sources.total_chunks() * size);
  for_each_chunk(p, sources, parallel, [&](int64_t s, int64_t k, const RowsView<const M>& m, int64_t chunk) {
    const int64_t begin = sources.chunk_row(s, k), end = sources.chunk_row(s, k + 1);
    double* sum = sums.data() + chunk * size;
    std::fill_n(sum, size, 0.0);
    sum_rows(m.row(0, 0, begin), m.row_stride, end - begin, p.width, kind, sum);
  });
  const double flops = 2.0 * p.sequences * p.heads * p.slots * p.width;
  run_tasks(parallel, p.sequences * heads, flops, [&](int64_t index, int) {
    const int64_t s = index / heads, g = index % heads;
    AlignedBuffer<double> total(2 * p.width), projected(p.slots);
    std::fill_n(total.data(), total.size(), 0.0);
    for (int64_t k = 0; k < sources.chunks(s); ++k)
      add_sums(kind, p.width, total.data(), p.width,
               sums.data() + (g * sources.total_chunks() + sources.chunk(s, k)) * size, p.width);
    if (kind == Accumulator::float32_compensated)
      for (int64_t j = 0; j < p.width; ++j) total[j] += total[p.width + j];
    if (totals) std::copy_n(total.data(), p.width, totals + index * p.width);
    const double inverse = sources.rows(s) ? 1.0 / static_cast<double>(sources.rows(s)) : 0.0;
    for (int64_t h = g * group; h < (g + 1) * group; ++h) {
      project(p.basis + h * p.basis_head_stride, p.slots, p.width, total.data(), projected.data());
      T* mean = means + (s * p.heads + h) * stride;
      for (int64_t i = 0; i < stride; ++i) mean[i] = i < p.slots ? static_cast<T>(projected[i] * inverse) : T(0);
    }
  });
}

#define LONGSPAN_INSTANTIATE(S, M)                                                                              \
  template void chunk_sums(const MemoryParams<S, M>&, const Plan&, const Parallel&, double*, double*);          \
  template void full_memory(const MemoryParams<S, M>&, Accumulator, const Plan&, const Parallel&, Computed<S>*, \
                            double*);
LONGSPAN_FOR_EACH_MEMORY_STORAGE(LONGSPAN_INSTANTIATE)
#undef LONGSPAN_INSTANTIATE

}  // namespace longspan::kernels::memory
#endif  // HWY_ONCE
