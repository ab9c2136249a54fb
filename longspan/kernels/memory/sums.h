// Sums of the memory kernels over whole chunks: one row for each chunk, small beside the products over all rows.
#pragma once

#include <cstdint>

#include "longspan/kernels/memory/plan.h"
#include "longspan/kernels/memory/rows.h"

namespace longspan::kernels::memory {

/// sums [words][width] += the rows, in order.
template <class M>
void sum_rows(const M* rows, int64_t row_stride, int64_t count, int64_t width, Accumulator kind, double* sums);

/// out [slots] = basis [slots, width] sums.
template <class T>
void project(const T* basis, int64_t slots, int64_t width, const double* sums, double* out);

/// out [width] += weights [slots] basis [slots, width].
template <class T>
void expand(const T* basis, int64_t slots, int64_t width, const double* weights, double* out);

/// acc [slots, width] += weights [slots] sums [width]; rows of acc are `acc_stride` apart.
void add_outer(const double* weights, int64_t slots, const double* sums, int64_t width, double* acc,
               int64_t acc_stride);

/// rows [count, width] = from (+ addend [width]), rounded to storage; from_stride 0 repeats one row, and the rows may
/// be added to themselves.
template <class T>
void write_rows(const T* from, int64_t from_stride, int64_t count, int64_t width, const T* addend, const Rows<T>& rows);

/// acc [size] += x [size].
template <class T>
void add_to(const T* x, int64_t size, double* acc);

/// Float64 column sums of m over each source chunk, [Hm][chunks][width], in parallel; with `before`, also those of the
/// chunk's rows before its last window border.
template <class S, class M>
void chunk_sums(const MemoryParams<S, M>& p, const Plan& sources, const Parallel& parallel, double* sums,
                double* before = nullptr);

/// The one memory row of the full form: means [S][H][slots padded], sums over chunks in order; and the total of the
/// rows of m where `totals` [S][Hm][width] is given.
template <class S, class M>
void full_memory(const MemoryParams<S, M>& p, Accumulator kind, const Plan& sources, const Parallel& parallel,
                 Computed<S>* means, double* totals);

}  // namespace longspan::kernels::memory
