// Inputs of local attention for tests: any layout, with the reference's answer and the error bound of the arithmetic.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "longspan/base/parallel.h"
#include "longspan/kernels/local/local.h"
#include "longspan/testing/reference/local_reference.h"

namespace longspan::testing {

enum class TableKind { none, per_head, shared };

/// Shape and layout. Sequences are `keys.size()`, of which sequence s has keys[s] keys and the last queries[s] of its
/// positions as queries.
struct LocalShape {
  std::vector<int64_t> queries, keys;
  int64_t heads = 1;
  int64_t key_heads = 0;  ///< 0: heads
  int64_t width = 4, value_width = 4;
  int64_t reach_left = 0, reach_right = 0;
  TableKind table = TableKind::per_head;
  int64_t table_margin = 0;   ///< entries of the table beyond the reaches, on each side
  bool packed = false;        ///< sequences on one row axis
  bool heads_inside = false;  ///< [row, head, width] instead of [head, row, width]
  int64_t padding = 0;        ///< unused elements behind a row
  int64_t shift = 0;          ///< elements by which pointers miss alignment
  uint64_t seed = 1;
  double dropout = 0;
  std::vector<int64_t> dropout_origin;  ///< [sequences][2], or empty

  std::string describe() const;
};

/// One sequence, queries = keys.
LocalShape self_shape(int64_t length, int64_t reach_left, int64_t reach_right);

/// A tensor [S, heads, rows, width] in the layout of a shape; everything that is not an element is NaN and must stay
/// so.
template <class T>
class LocalTensor {
 public:
  LocalTensor() = default;
  LocalTensor(const LocalShape& shape, int64_t heads, const std::vector<int64_t>& rows, int64_t width);

  RowsView<T> view();
  RowsView<const T> const_view() const;
  T* row(int64_t s, int64_t h, int64_t i);
  const T* row(int64_t s, int64_t h, int64_t i) const;
  int64_t width() const { return width_; }
  /// Rows of one sequence and head, contiguous.
  std::vector<T> block(int64_t s, int64_t h) const;
  std::vector<double> block_double(int64_t s, int64_t h) const;
  void fill_random(uint64_t seed);
  /// Whether every element of the memory that belongs to no row is still NaN.
  bool gaps_untouched() const;

 private:
  bool packed_ = false;
  std::vector<int64_t> rows_, starts_;
  int64_t heads_ = 1, width_ = 1, shift_ = 0;
  int64_t sequence_stride_ = 0, head_stride_ = 0, row_stride_ = 0;
  std::vector<T> memory_;
};

/// q, k, v and their gradients stored as S, out and dout as O.
template <class S, class O = S>
struct LocalCase {
  using T = Computed<S>;

  explicit LocalCase(const LocalShape& shape);

  LocalShape shape;
  std::vector<int64_t> query_starts, key_starts;
  double scale = 1;
  LocalTensor<S> q, k, v;
  LocalTensor<O> dout;
  std::vector<T> table;
  int64_t table_size = 0, table_centre = 0;
  LocalTensor<O> out;
  LocalTensor<T> lse;
  LocalTensor<S> dq, dk, dv;
  std::vector<T> dtable;

  void forward(const Parallel& parallel = SerialParallel());
  void backward(const Parallel& parallel = SerialParallel());
  /// Of one sequence and query head.
  LocalReferenceProblem reference(int64_t s, int64_t h) const;
  int64_t key_heads() const { return shape.key_heads == 0 ? shape.heads : shape.key_heads; }

 private:
  void set_params(kernels::LocalParams<S>& params) const;
};

/// Error bounds of one (sequence, query head), from the number of operations and the magnitude of the operands
/// (derivation in local_case.cc), before results are rounded to their storage type. `out_roundoff`: of the type of
/// `out`; `group`: query heads that read one key head, over which dk and dv are summed.
struct LocalBounds {
  double out, lse, dq, dk, dv, dtable;
};
template <class T>
LocalBounds local_bounds(const LocalReferenceProblem& problem, const std::vector<double>& dout, double out_roundoff = 0,
                         int64_t group = 1);

/// Runs forward (and backward) and expects every result of every sequence and head within its bound.
template <class S, class O = S>
void expect_matches_reference(const LocalShape& shape, bool backward);

}  // namespace longspan::testing
