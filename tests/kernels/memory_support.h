// Problems for the tests of the memory kernels: inputs that are a function of (tensor, sequence, head, row, column)
// alone, so that the same sequence can stand alone, in a batch or in a pack, in any layout.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "laid_out_tensor.h"
#include "longspan/kernels/memory/memory.h"
#include "longspan/testing/compare.h"
#include "longspan/testing/reference/memory_reference.h"

namespace longspan::kernels::memory_test {

using kernel_test::Layout;
using kernel_test::loaded;
using kernel_test::stored;
using kernel_test::Tensor;

enum TensorId { kQ, kM, kBasis, kDout, kClosed, kOpen, kDclosed, kDopen, kVisible, kDvisible };

/// Uniform in [-1.7, 1.7] (variance 1), plus a mean for the memory features so that running means do not vanish.
inline double value(TensorId tensor, int64_t s, int64_t h, int64_t t, int64_t c) {
  return kernel_test::uniform_of({tensor, s, h, t, c}) * 1.7 + (tensor == kM ? 0.5 : 0.0);
}

struct Shape {
  std::vector<int64_t> queries = {};  ///< rows of each sequence
  std::vector<int64_t> sources = {};  ///< empty: the same (and the only choice when causal)
  int64_t heads = 1, slots = 4, width = 4;
  int64_t feature_heads = 0;  ///< 0: heads
  bool causal = true;
  int64_t window = 0;
  Accumulator accumulator = Accumulator::float64;
  Dropout dropout = {};
  bool packed = false;  ///< else all sequences have the rows of the first
  bool shared_basis = false;
  Layout layout = Layout::dense;
  double scale = 1;
  int64_t count = 0;  ///< positions before the first row; state (sums of that many) is given when > 0
  int64_t first_sequence = 0, first_head = 0;  ///< names of the first sequence and head in value()
  int64_t first_row = 0;                       ///< name of each sequence's first row
};

/// q as S and m as M in memory.
template <class S, class M = S>
class Problem {
  using T = Computed<S>;

 public:
  explicit Problem(Shape shape) : shape_(std::move(shape)) {
    if (shape_.sources.empty()) shape_.sources = shape_.queries;
    const int64_t sequences = static_cast<int64_t>(shape_.queries.size());
    query_starts_ = starts(shape_.queries);
    source_starts_ = starts(shape_.sources);
    queries_ = {shape_.packed ? query_starts_.data() : nullptr, shape_.queries.empty() ? 0 : shape_.queries[0]};
    sources_ = {shape_.packed ? source_starts_.data() : nullptr, shape_.sources.empty() ? 0 : shape_.sources[0]};
    for (Tensor<S>* x : {&q, &dout, &out, &dq})
      *x = Tensor<S>(queries_, sequences, shape_.heads, shape_.width, shape_.layout);
    for (Tensor<M>* x : {&m, &dm}) *x = Tensor<M>(sources_, sequences, features(), shape_.width, shape_.layout);
    fill(q, kQ, shape_.queries);
    fill(dout, kDout, shape_.queries);
    fill(m, kM, shape_.sources);
    const int64_t bases = shape_.shared_basis ? 1 : shape_.heads;
    basis.resize(bases * shape_.slots * shape_.width);
    const double norm = std::sqrt(static_cast<double>(shape_.width));
    for (int64_t h = 0; h < bases; ++h)
      for (int64_t i = 0; i < shape_.slots; ++i)
        for (int64_t c = 0; c < shape_.width; ++c)
          basis[(h * shape_.slots + i) * shape_.width + c] =
              static_cast<T>(value(kBasis, 0, shape_.shared_basis ? 0 : shape_.first_head + h, i, c) / norm);
    dbasis.assign(basis.size(), std::nan(""));
    const double closed_count = static_cast<double>(shape_.count / kMemoryChunk * kMemoryChunk);
    const double open_count = static_cast<double>(shape_.count) - closed_count;
    fill_sums(closed, kClosed, closed_count);
    fill_sums(open, kOpen, open_count);
    fill_state(visible, kVisible, 1);
    fill_state(dclosed_out, kDclosed, 1);
    fill_state(dopen_out, kDopen, 1);
    fill_state(dvisible_out, kDvisible, 1);
    count.assign(sequences, shape_.count);
    closed_out.assign(closed.size(), std::nan("")), open_out = closed_out;
    visible_out.assign(visible.size(), std::nan("")), dclosed = dopen = dvisible = visible_out;
    count_out.assign(sequences, -1);
  }
  Problem(const Problem&) = delete;

  void forward(const Parallel& parallel) {
    MemoryForward<S, M> p;
    set(p);
    p.accumulator = shape_.accumulator;
    p.out = out.view;
    if (shape_.causal && shape_.count > 0) p.state.closed = closed.data(), p.state.open = open.data();
    if (shape_.causal) p.state_out = {closed_out.data(), open_out.data(), count_out.data(), nullptr};
    if (shape_.window > 0) p.state_out.visible = visible_out.data();
    memory_forward(p, parallel);
  }
  void backward(const Parallel& parallel, bool with_state_gradient = true) {
    MemoryBackward<S, M> p;
    set(p);
    const std::vector<double> closed_values = values(closed), open_values = values(open);
    if (shape_.causal && shape_.count > 0) p.state.closed = closed_values.data(), p.state.open = open_values.data();
    p.dout = dout.input();
    p.dq = dq.view;
    p.dm = dm.view;
    p.dbasis = dbasis.data();
    if (shape_.causal && with_state_gradient) {
      p.dstate_out = {dclosed_out.data(), dopen_out.data(), nullptr, nullptr};
      p.dstate = {dclosed.data(), dopen.data(), nullptr, nullptr};
      if (shape_.window > 0) p.dstate_out.visible = dvisible_out.data(), p.dstate.visible = dvisible.data();
    }
    memory_backward(p, parallel);
  }

  /// Sequence s and head h for the reference.
  testing::MemoryCase reference_case(int64_t s, int64_t h) const {
    testing::MemoryCase c;
    c.slots = shape_.slots, c.width = shape_.width, c.scale = shape_.scale, c.causal = shape_.causal;
    c.window = shape_.window, c.dropout = shape_.dropout, c.sequence = s, c.head = h;
    c.queries = queries_.size(s), c.sources = sources_.size(s);
    c.q = rows_of(q, s, h), c.m = rows_of(m, s, h / group());
    const T* b = basis.data() + (shape_.shared_basis ? 0 : h) * shape_.slots * shape_.width;
    c.basis.assign(b, b + shape_.slots * shape_.width);
    if (shape_.causal && shape_.count > 0) {
      c.count = shape_.count;
      c.closed = state_row(values(closed), s, h);
      c.open = state_row(values(open), s, h);
      c.visible = state_row(visible, s, h);
    }
    return c;
  }
  template <class X>
  std::vector<double> rows_of(const Tensor<X>& x, int64_t s, int64_t h) const {
    std::vector<double> out;
    for (const X value : rows(x, s, h)) out.push_back(loaded(value));
    return out;
  }
  /// The rows of one sequence and head, contiguous.
  template <class X>
  std::vector<X> rows(const Tensor<X>& x, int64_t s, int64_t h) const {
    std::vector<X> out;
    for (int64_t t = 0; t < x.segments.size(s); ++t)
      out.insert(out.end(), x.row(s, h, t), x.row(s, h, t) + shape_.width);
    return out;
  }
  std::vector<double> state_row(const std::vector<double>& x, int64_t s, int64_t h) const {
    const auto begin = x.begin() + (s * shape_.heads + h) * shape_.slots;
    return {begin, begin + shape_.slots};
  }
  /// Sums without their corrections, [S, H, r].
  std::vector<double> values(const std::vector<double>& sums) const {
    if (words(shape_.accumulator) == 1) return sums;
    std::vector<double> out;
    for (std::size_t row = 0; row < sums.size(); row += 2 * shape_.slots)
      for (int64_t i = 0; i < shape_.slots; ++i) out.push_back(sums[row + i] + sums[row + shape_.slots + i]);
    return out;
  }
  const Shape& shape() const { return shape_; }
  int64_t features() const { return shape_.feature_heads == 0 ? shape_.heads : shape_.feature_heads; }
  int64_t group() const { return shape_.heads / features(); }
  int64_t sequences() const { return static_cast<int64_t>(shape_.queries.size()); }

  Tensor<S> q, dout, out, dq;
  Tensor<M> m, dm;
  std::vector<T> basis, dbasis;
  std::vector<double> closed, open, visible, closed_out, open_out, visible_out;
  std::vector<double> dclosed, dopen, dvisible, dclosed_out, dopen_out, dvisible_out;
  std::vector<int64_t> count, count_out;

 private:
  static std::vector<int64_t> starts(const std::vector<int64_t>& sizes) {
    std::vector<int64_t> out(sizes.size() + 1, 0);
    std::partial_sum(sizes.begin(), sizes.end(), out.begin() + 1);
    return out;
  }
  template <class X>
  void fill(Tensor<X>& x, TensorId id, const std::vector<int64_t>& sizes) {
    for (int64_t s = 0; s < static_cast<int64_t>(sizes.size()); ++s)
      for (int64_t h = 0; h < (id == kM ? features() : shape_.heads); ++h)
        for (int64_t t = 0; t < x.segments.size(s); ++t)
          for (int64_t c = 0; c < shape_.width; ++c)
            x.row(s, h, t)[c] =
                stored<X>(value(id, shape_.first_sequence + s, shape_.first_head + h, shape_.first_row + t, c));
  }
  void fill_state(std::vector<double>& x, TensorId id, double factor) {
    x.resize(sequences() * shape_.heads * shape_.slots);
    for (int64_t s = 0; s < sequences(); ++s)
      for (int64_t h = 0; h < shape_.heads; ++h)
        for (int64_t i = 0; i < shape_.slots; ++i)
          x[(s * shape_.heads + h) * shape_.slots + i] =
              factor * value(id, shape_.first_sequence + s, shape_.first_head + h, 0, i);
  }
  /// The same in the accumulator's numbers; corrections are small ones.
  void fill_sums(std::vector<double>& x, TensorId id, double factor) {
    fill_state(x, id, factor);
    if (shape_.accumulator == Accumulator::float64) return;
    for (double& sum : x) sum = static_cast<float>(sum);
    if (shape_.accumulator == Accumulator::float32) return;
    std::vector<double> pairs;
    for (std::size_t row = 0; row < x.size(); row += shape_.slots) {
      for (int64_t i = 0; i < shape_.slots; ++i) pairs.push_back(x[row + i]);
      for (int64_t i = 0; i < shape_.slots; ++i) pairs.push_back(static_cast<float>(x[row + i] * 0x1p-26));
    }
    x = pairs;
  }
  void set(MemoryParams<S, M>& p) {
    p.sequences = sequences();
    p.heads = shape_.heads, p.slots = shape_.slots, p.width = shape_.width, p.feature_heads = shape_.feature_heads;
    p.causal = shape_.causal, p.window = shape_.window, p.scale = shape_.scale, p.dropout = shape_.dropout;
    p.queries = queries_, p.sources = sources_;
    p.q = q.input(), p.m = m.input();
    p.basis = basis.data();
    p.basis_head_stride = shape_.shared_basis ? 0 : shape_.slots * shape_.width;
    if (!shape_.causal || shape_.count == 0) return;
    p.state.count = count.data();
    if (shape_.window > 0) p.state.visible = visible.data();
  }

  Shape shape_;
  std::vector<int64_t> query_starts_, source_starts_;
  Segments queries_, sources_;
};

/// First-order error bounds of the kernels for one case, from the magnitudes of its data (derivation beside each line).
/// Twice over: for the terms of second order, and because the reference rounds too.
struct Bounds {
  double out = 0, sums = 0, visible = 0, q = 0, m = 0, basis = 0, state = 0;
};
/// Computed in T. `dstate`: the gradients of the state after the last row.
template <class T>
Bounds error_bounds(const testing::MemoryCase& c, const std::vector<double>& dout, const std::vector<double>& dstate,
                    Accumulator accumulator = Accumulator::float64);

/// The running means of m as the kernel's memory has them: with one slot and one column the output is the mean itself.
std::vector<float> running_means(const std::vector<float>& m, Accumulator accumulator);

/// Kernel outputs, and gradients where `gradients`, of every sequence and head against the reference.
template <class S, class M>
void expect_matches_reference(Problem<S, M>& problem, const Parallel& parallel, bool gradients);

}  // namespace longspan::kernels::memory_test
