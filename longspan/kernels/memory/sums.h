// Float64 sums of the memory kernels: one row per chunk, small beside the products over all rows.
#pragma once

#include <cstdint>

#include "longspan/kernels/memory/plan.h"

namespace longspan::kernels::memory {

/// sums [width] = sum of the rows, in order.
template <class T>
void sum_rows(const T* rows, int64_t row_stride, int64_t count, int64_t width, double* sums);

/// out [slots] = basis [slots, width] sums.
template <class T>
void project(const T* basis, int64_t slots, int64_t width, const double* sums, double* out);

/// out [width] = weights [slots] basis [slots, width], rounded to T.
template <class T>
void expand(const T* basis, int64_t slots, int64_t width, const double* weights, T* out);

/// acc [slots, width] += weights [slots] sums [width]; rows of acc are `acc_stride` apart.
void add_outer(const double* weights, int64_t slots, const double* sums, int64_t width, double* acc,
               int64_t acc_stride);

/// rows [count, width] += addend [width].
template <class T>
void add_to_rows(const T* addend, int64_t width, int64_t count, T* rows, int64_t row_stride);

/// acc [size] += x [size].
template <class T>
void add_to(const T* x, int64_t size, double* acc);

/// Column sums of m over each source chunk, [H][chunks][width], in parallel.
template <class T>
void chunk_sums(const MemoryParams<T>& p, const Plan& sources, const Parallel& parallel, double* sums);

/// The one memory row of the full form: means [S][H][slots padded], sums over chunks in order; and the total of the
/// rows of m where `totals` [S][H][width] is given.
template <class T>
void full_memory(const MemoryParams<T>& p, const Plan& sources, const Parallel& parallel, T* means, double* totals);

}  // namespace longspan::kernels::memory
