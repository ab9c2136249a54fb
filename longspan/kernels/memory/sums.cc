#include "longspan/kernels/memory/sums.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "longspan/kernels/memory/sums.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "longspan/simd/tail-inl.h"

HWY_BEFORE_NAMESPACE();
namespace longspan::kernels::memory::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace sn = longspan::simd::HWY_NAMESPACE;

constexpr hn::ScalableTag<double> kD;
constexpr int64_t kLanes = hn::MaxLanes(kD);

template <class T>
void sum_rows(const T* rows, int64_t row_stride, int64_t count, int64_t width, double* sums) {
  int64_t j = 0;
  for (; j + 4 * kLanes <= width; j += 4 * kLanes) {
    auto s0 = hn::Zero(kD), s1 = s0, s2 = s0, s3 = s0;
    for (int64_t t = 0; t < count; ++t) {
      const T* row = rows + t * row_stride + j;
      s0 = hn::Add(s0, sn::LoadDouble(kD, row));
      s1 = hn::Add(s1, sn::LoadDouble(kD, row + kLanes));
      s2 = hn::Add(s2, sn::LoadDouble(kD, row + 2 * kLanes));
      s3 = hn::Add(s3, sn::LoadDouble(kD, row + 3 * kLanes));
    }
    hn::StoreU(s0, kD, sums + j);
    hn::StoreU(s1, kD, sums + j + kLanes);
    hn::StoreU(s2, kD, sums + j + 2 * kLanes);
    hn::StoreU(s3, kD, sums + j + 3 * kLanes);
  }
  for (; j < width; j += kLanes) {
    const int64_t n = HWY_MIN(kLanes, width - j);
    auto sum = hn::Zero(kD);
    for (int64_t t = 0; t < count; ++t) sum = hn::Add(sum, sn::LoadDoubleN(kD, rows + t * row_stride + j, n));
    sn::StoreN(kD, sum, sums + j, n);
  }
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
void expand(const T* basis, int64_t slots, int64_t width, const double* weights, T* out) {
  for (int64_t j = 0; j < width; j += kLanes) {
    const int64_t n = HWY_MIN(kLanes, width - j);
    auto sum = hn::Zero(kD);
    for (int64_t i = 0; i < slots; ++i)
      sum = hn::MulAdd(hn::Set(kD, weights[i]), sn::LoadDoubleN(kD, basis + i * width + j, n), sum);
    sn::StoreDoubleN(kD, sum, out + j, n);
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
void add_to_rows(const T* addend, int64_t width, int64_t count, T* rows, int64_t row_stride) {
  constexpr hn::ScalableTag<T> d;
  constexpr int64_t kWide = hn::MaxLanes(d);
  for (int64_t t = 0; t < count; ++t) {
    T* row = rows + t * row_stride;
    for (int64_t j = 0; j < width; j += kWide) {
      const int64_t n = HWY_MIN(kWide, width - j);
      sn::StoreN(d, hn::Add(sn::LoadN(d, row + j, n), sn::LoadN(d, addend + j, n)), row + j, n);
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
#define LONGSPAN_MEMORY_SUMS(T, suffix)                                                                   \
  void sum_rows_##suffix(const T* rows, int64_t row_stride, int64_t count, int64_t width, double* sums) { \
    sum_rows(rows, row_stride, count, width, sums);                                                       \
  }                                                                                                       \
  void project_##suffix(const T* basis, int64_t slots, int64_t width, const double* sums, double* out) {  \
    project(basis, slots, width, sums, out);                                                              \
  }                                                                                                       \
  void expand_##suffix(const T* basis, int64_t slots, int64_t width, const double* weights, T* out) {     \
    expand(basis, slots, width, weights, out);                                                            \
  }                                                                                                       \
  void add_to_rows_##suffix(const T* addend, int64_t width, int64_t count, T* rows, int64_t row_stride) { \
    add_to_rows(addend, width, count, rows, row_stride);                                                  \
  }                                                                                                       \
  void add_to_##suffix(const T* x, int64_t size, double* acc) { add_to(x, size, acc); }
LONGSPAN_MEMORY_SUMS(float, f32)
LONGSPAN_MEMORY_SUMS(double, f64)
#undef LONGSPAN_MEMORY_SUMS

}  // namespace longspan::kernels::memory::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "longspan/base/aligned.h"

namespace longspan::kernels::memory {

HWY_EXPORT(add_outer);
#define LONGSPAN_MEMORY_SUMS(T, suffix)                                                          \
  HWY_EXPORT(sum_rows_##suffix);                                                                 \
  HWY_EXPORT(project_##suffix);                                                                  \
  HWY_EXPORT(expand_##suffix);                                                                   \
  HWY_EXPORT(add_to_rows_##suffix);                                                              \
  HWY_EXPORT(add_to_##suffix);                                                                   \
  template <>                                                                                    \
  void sum_rows(const T* rows, int64_t row_stride, int64_t count, int64_t width, double* sums) { \
    HWY_DYNAMIC_DISPATCH(sum_rows_##suffix)(rows, row_stride, count, width, sums);               \
  }                                                                                              \
  template <>                                                                                    \
  void project(const T* basis, int64_t slots, int64_t width, const double* sums, double* out) {  \
    HWY_DYNAMIC_DISPATCH(project_##suffix)(basis, slots, width, sums, out);                      \
  }                                                                                              \
  template <>                                                                                    \
  void expand(const T* basis, int64_t slots, int64_t width, const double* weights, T* out) {     \
    HWY_DYNAMIC_DISPATCH(expand_##suffix)(basis, slots, width, weights, out);                    \
  }                                                                                              \
  template <>                                                                                    \
  void add_to_rows(const T* addend, int64_t width, int64_t count, T* rows, int64_t row_stride) { \
    HWY_DYNAMIC_DISPATCH(add_to_rows_##suffix)(addend, width, count, rows, row_stride);          \
  }                                                                                              \
  template <>                                                                                    \
  void add_to(const T* x, int64_t size, double* acc) {                                           \
    HWY_DYNAMIC_DISPATCH(add_to_##suffix)(x, size, acc);                                         \
  }
LONGSPAN_MEMORY_SUMS(float, f32)
LONGSPAN_MEMORY_SUMS(double, f64)
#undef LONGSPAN_MEMORY_SUMS

void add_outer(const double* weights, int64_t slots, const double* sums, int64_t width, double* acc,
               int64_t acc_stride) {
  HWY_DYNAMIC_DISPATCH(add_outer)(weights, slots, sums, width, acc, acc_stride);
}

template <class T>
void chunk_sums(const MemoryParams<T>& p, const Plan& plan, const Parallel& parallel, double* sums) {
  const int64_t items = static_cast<int64_t>(plan.items().size());
  const double flops = static_cast<double>(plan.total_rows()) * p.heads * p.width;
  run_tasks(parallel, items * p.heads, flops, [&](int64_t index, int) {
    const int64_t h = index / items;
    const Item& item = plan.items()[index % items];
    for (int64_t s = item.sequence_begin; s < item.sequence_end; ++s) {
      const auto m = p.sources.at(p.m, s, h);
      for (int64_t k = item.chunk_begin; k < plan.chunk_end(item, s); ++k) {
        const int64_t begin = plan.chunk_row(s, k), end = plan.chunk_row(s, k + 1);
        sum_rows(m.row(0, 0, begin), m.row_stride, end - begin, p.width,
                 sums + (h * plan.total_chunks() + plan.chunk(s, k)) * p.width);
      }
    }
  });
}

template <class T>
void full_memory(const MemoryParams<T>& p, const Plan& sources, const Parallel& parallel, T* means, double* totals) {
  AlignedBuffer<double> sums(p.heads * sources.total_chunks() * p.width);
  chunk_sums(p, sources, parallel, sums.data());
  const int64_t stride = padded(p.slots);
  const double flops = 2.0 * p.sequences * p.heads * p.slots * p.width;
  run_tasks(parallel, p.sequences * p.heads, flops, [&](int64_t index, int) {
    const int64_t s = index / p.heads, h = index % p.heads;
    AlignedBuffer<double> work(p.width + p.slots);
    double* total = totals ? totals + index * p.width : work.data();
    double* projected = work.data() + p.width;
    std::fill_n(total, p.width, 0.0);
    for (int64_t k = 0; k < sources.chunks(s); ++k)
      add_to(sums.data() + (h * sources.total_chunks() + sources.chunk(s, k)) * p.width, p.width, total);
    project(p.basis + h * p.basis_head_stride, p.slots, p.width, total, projected);
    const double inverse = sources.rows(s) ? 1.0 / static_cast<double>(sources.rows(s)) : 0.0;
    T* mean = means + index * stride;
    for (int64_t i = 0; i < stride; ++i) mean[i] = i < p.slots ? static_cast<T>(projected[i] * inverse) : T(0);
  });
}

template void chunk_sums(const MemoryParams<float>&, const Plan&, const Parallel&, double*);
template void chunk_sums(const MemoryParams<double>&, const Plan&, const Parallel&, double*);
template void full_memory(const MemoryParams<float>&, const Plan&, const Parallel&, float*, double*);
template void full_memory(const MemoryParams<double>&, const Plan&, const Parallel&, double*, double*);

}  // namespace longspan::kernels::memory
#endif  // HWY_ONCE
