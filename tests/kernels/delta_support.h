// Problems for the tests of the delta memory kernels: inputs that are a function of (tensor, sequence, head, row,
// column) alone, so that the same sequence can stand alone, in a batch or in a pack, in any layout.
#pragma once

#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "laid_out_tensor.h"
#include "longspan/kernels/delta/delta_memory.h"
#include "longspan/testing/compare.h"
#include "longspan/testing/reference/delta_reference.h"

namespace longspan::kernels::delta_test {

using kernel_test::Layout;
using kernel_test::loaded;
using kernel_test::stored;
using kernel_test::Tensor;

enum class Keys { random, repeated, orthonormal };  ///< of norm 1 each; repeated: one key for all rows

enum TensorId { kQ, kK, kV, kBeta, kAlpha, kState, kDout, kDlast, kDkeys, kDwrites, kDalpha };

/// Uniform in [-1, 1].
double value(TensorId tensor, int64_t s, int64_t h, int64_t t, int64_t c);

struct Shape {
  std::vector<int64_t> rows = {};  ///< of each sequence
  int64_t heads = 1, slots = 5, width = 6;
  bool delta = true;
  DeltaDecay decay = DeltaDecay::scalar;
  bool packed = false;  ///< else all sequences have the rows of the first
  Layout layout = Layout::dense;
  Keys keys = Keys::random;
  double largest_beta = 1, slowest = 0.2;  ///< beta in (0, largest], -log alpha up to `slowest`, and at 5 % of rows 6.9
  bool initial = false;                    ///< a state before the first row
  int64_t first_sequence = 0, first_head = 0, first_row = 0;  ///< names of the first of each in value()
};

/// The state of a stream, and its gradient.
template <class T>
struct State {
  State() = default;
  State(int64_t pairs, int64_t sequences, const Shape& shape, double fill = 0) {
    memory.assign(pairs * shape.slots * shape.width, static_cast<T>(fill));
    keys.assign(pairs * kDeltaChunk * shape.slots, static_cast<T>(fill));
    writes.assign(pairs * kDeltaChunk * shape.width, static_cast<T>(fill));
    const int64_t decay = shape.decay == DeltaDecay::slot ? shape.slots : shape.decay == DeltaDecay::scalar ? 1 : 0;
    log_alpha.assign(pairs * kDeltaChunk * decay, static_cast<T>(fill));
    position.assign(sequences, 0);
  }
  DeltaState<T> view() { return {memory.data(), keys.data(), writes.data(), log_alpha.data(), position.data()}; }
  ConstDeltaState<T> input() const {
    return {memory.data(), keys.data(), writes.data(), log_alpha.data(), position.data()};
  }
  std::vector<T> memory, keys, writes, log_alpha;
  std::vector<int64_t> position;
};

template <class S>
class Problem {
 public:
  using T = Computed<S>;
  explicit Problem(Shape shape);
  Problem(const Problem&) = delete;

  /// Into out, last, segments and next.
  void forward(const Parallel& parallel);
  /// Into dq to dlog_alpha and dstate; of `out` and `last` or, `stream`, of `out` and `next`.
  void backward(const Parallel& parallel, bool stream = false, bool with_segments = true);

  testing::DeltaCase reference_case(int64_t s, int64_t h) const;
  template <class X>
  std::vector<double> rows_of(const Tensor<X>& x, int64_t s, int64_t h) const {
    std::vector<double> out;
    for (const X value : x.rows(s, h)) out.push_back(loaded(value));
    return out;
  }
  template <class X>
  std::vector<X> state_of(const std::vector<X>& x, int64_t s, int64_t h) const {
    const int64_t size = shape_.slots * shape_.width;
    const auto begin = x.begin() + (s * shape_.heads + h) * size;
    return {begin, begin + size};
  }
  const Shape& shape() const { return shape_; }
  int64_t sequences() const { return static_cast<int64_t>(shape_.rows.size()); }
  int64_t pairs() const { return sequences() * shape_.heads; }
  int64_t decay_width() const {
    return shape_.decay == DeltaDecay::slot ? shape_.slots : shape_.decay == DeltaDecay::scalar ? 1 : 0;
  }

  Tensor<S> q, k, v, out, dout, dq, dk, dv;
  Tensor<T> beta, log_alpha, dbeta, dlog_alpha;
  State<T> state, next, dnext, dstate;  ///< `state` is used when it has a position or shape.initial
  std::vector<T> last, dlast, segments;

 private:
  void fill_keys();
  template <class X, class F>
  void fill(Tensor<X>& x, TensorId id, const F& f);
  void set(DeltaParams<S>& p) const;

  Shape shape_;
  std::vector<int64_t> starts_;
  Segments rows_;
};

/// First-order error bounds for one sequence and head computed in T, from norms (derivation in delta_bounds.cc).
struct Bounds {
  double out = 0, state = 0;
  double dq = 0, dk = 0, dv = 0, dbeta = 0, dlog_alpha = 0, dstate = 0;
};
template <class T>
Bounds error_bounds(const testing::DeltaCase& c, const std::vector<double>& dout = {},
                    const std::vector<double>& dlast = {});

/// Outputs, and gradients where `gradients`, of every sequence and head against the reference.
template <class S>
void expect_matches_reference(Problem<S>& problem, const Parallel& parallel, bool gradients);

}  // namespace longspan::kernels::delta_test
