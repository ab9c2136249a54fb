#include "delta_support.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace longspan::kernels::delta_test {

double value(TensorId tensor, int64_t s, int64_t h, int64_t t, int64_t c) {
  return kernel_test::uniform_of({tensor, s, h, t, c});
}

template <class S>
Problem<S>::Problem(Shape shape) : shape_(std::move(shape)) {
  const Shape& f = shape_;
  starts_.assign(f.rows.size() + 1, 0);
  std::partial_sum(f.rows.begin(), f.rows.end(), starts_.begin() + 1);
  rows_ = {f.packed ? starts_.data() : nullptr, f.rows.empty() ? 0 : f.rows[0]};
  for (Tensor<S>* x : {&q, &k, &dq, &dk}) *x = Tensor<S>(rows_, sequences(), f.heads, f.slots, f.layout);
  for (Tensor<S>* x : {&v, &out, &dout, &dv}) *x = Tensor<S>(rows_, sequences(), f.heads, f.width, f.layout);
  for (Tensor<T>* x : {&beta, &dbeta}) *x = Tensor<T>(rows_, sequences(), f.heads, 1, f.layout);
  for (Tensor<T>* x : {&log_alpha, &dlog_alpha}) *x = Tensor<T>(rows_, sequences(), f.heads, decay_width(), f.layout);
  fill_keys();
  fill(v, kV, [](double x) { return 1.7 * x; });
  fill(dout, kDout, [](double x) { return x; });
  fill(beta, kBeta, [&](double x) { return f.largest_beta * (0.5 + 0.499 * x); });
  fill(log_alpha, kAlpha, [&](double x) { return x > 0.9 ? -6.9 : -f.slowest * (0.5 + 0.5 * x); });
  state = State<T>(pairs(), sequences(), f);
  next = dstate = State<T>(pairs(), sequences(), f, std::nan(""));
  dnext = State<T>(pairs(), sequences(), f);
  last = next.memory;
  dlast = state.memory;
  const auto fill_state = [](std::vector<T>& x, TensorId id) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(value(id, 0, 0, 0, static_cast<int64_t>(i)));
  };
  if (f.initial) fill_state(state.memory, kState);
  fill_state(dlast, kDlast);
  dnext.memory = dlast;
  fill_state(dnext.keys, kDkeys);
  fill_state(dnext.writes, kDwrites);
  fill_state(dnext.log_alpha, kDalpha);
}

template <class S>
template <class X, class F>
void Problem<S>::fill(Tensor<X>& x, TensorId id, const F& f) {
  for (int64_t s = 0; s < sequences(); ++s)
    for (int64_t h = 0; h < shape_.heads; ++h)
      for (int64_t t = 0; t < rows_.size(s); ++t)
        for (int64_t c = 0; c < x.width; ++c)
          x.row(s, h, t)[c] =
              stored<X>(f(value(id, shape_.first_sequence + s, shape_.first_head + h, shape_.first_row + t, c)));
}

/// Queries and keys of norm 1.
template <class S>
void Problem<S>::fill_keys() {
  for (Tensor<S>* x : {&q, &k})
    for (int64_t s = 0; s < sequences(); ++s)
      for (int64_t h = 0; h < shape_.heads; ++h)
        for (int64_t t = 0; t < rows_.size(s); ++t) {
          const bool key = x == &k;
          const int64_t row = shape_.first_row + t;
          std::vector<double> numbers(shape_.slots, 0.0);
          if (key && shape_.keys == Keys::orthonormal)
            numbers[row % shape_.slots] = 1;
          else
            for (int64_t c = 0; c < shape_.slots; ++c)
              numbers[c] = value(key ? kK : kQ, shape_.first_sequence + s, shape_.first_head + h,
                                 key && shape_.keys == Keys::repeated ? 0 : row, c);
          double squares = 0;
          for (const double y : numbers) squares += y * y;
          for (int64_t c = 0; c < shape_.slots; ++c) x->row(s, h, t)[c] = stored<S>(numbers[c] / std::sqrt(squares));
        }
}

template <class S>
void Problem<S>::set(DeltaParams<S>& p) const {
  p.sequences = sequences(), p.heads = shape_.heads, p.slots = shape_.slots, p.width = shape_.width;
  p.delta = shape_.delta, p.decay = shape_.decay, p.rows = rows_;
  p.q = q.input(), p.k = k.input(), p.v = v.input(), p.beta = beta.input(), p.log_alpha = log_alpha.input();
  if (std::any_of(state.position.begin(), state.position.end(), [](int64_t at) { return at > 0; }))
    p.state = state.input();
  else if (shape_.initial)
    p.state.memory = state.memory.data();
}

template <class S>
void Problem<S>::forward(const Parallel& parallel) {
  DeltaForward<S> p;
  set(p);
  segments.assign(delta_segments<S>(p) * shape_.slots * shape_.width, static_cast<T>(std::nan("")));
  p.out = out.view, p.last = last.data(), p.state_out = next.view(), p.segments = segments.data();
  delta_forward(p, parallel);
}

template <class S>
void Problem<S>::backward(const Parallel& parallel, bool stream, bool with_segments) {
  DeltaBackward<S> p;
  set(p);
  if (with_segments) p.segments = segments.data();
  p.dout = dout.input();
  if (stream)
    p.dstate_out = dnext.input();
  else
    p.dlast = dlast.data();
  p.dq = dq.view, p.dk = dk.view, p.dv = dv.view, p.dbeta = dbeta.view, p.dlog_alpha = dlog_alpha.view;
  p.dstate = dstate.view();
  delta_backward(p, parallel);
}

template <class S>
testing::DeltaCase Problem<S>::reference_case(int64_t s, int64_t h) const {
  testing::DeltaCase c;
  c.rows = rows_.size(s), c.slots = shape_.slots, c.width = shape_.width, c.delta = shape_.delta;
  c.decay_width = decay_width();
  c.q = rows_of(q, s, h), c.k = rows_of(k, s, h), c.v = rows_of(v, s, h);
  c.beta = rows_of(beta, s, h), c.log_alpha = rows_of(log_alpha, s, h);
  if (shape_.initial)
    for (const T x : state_of(state.memory, s, h)) c.state.push_back(x);
  return c;
}

namespace {

/// Storage in bfloat16 rounds the result once more.
template <class S>
double rounded(double bound, const std::vector<double>& expected) {
  if constexpr (!std::is_same_v<S, BFloat16>) return bound;
  double largest = 0;
  for (const double x : expected) largest = std::max(largest, std::abs(x));
  return bound + 0x1p-8 * (largest + bound);
}

template <class X>
void expect_within(const std::vector<X>& actual, const std::vector<double>& expected, double bound, const char* what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  std::vector<double> wide;
  for (const X x : actual) wide.push_back(loaded(x));
  const auto result = testing::within(wide.data(), expected.data(), static_cast<int64_t>(wide.size()), bound);
  EXPECT_TRUE(result) << what << ": " << result.message;
}

}  // namespace

template <class S>
void expect_matches_reference(Problem<S>& problem, const Parallel& parallel, bool gradients) {
  using T = Computed<S>;
  problem.forward(parallel);
  if (gradients) problem.backward(parallel);
  for (int64_t s = 0; s < problem.sequences(); ++s)
    for (int64_t h = 0; h < problem.shape().heads; ++h) {
      SCOPED_TRACE(::testing::Message() << "sequence " << s << " head " << h << " rows " << problem.shape().rows[s]
                                        << " slots " << problem.shape().slots << " width " << problem.shape().width
                                        << " delta " << problem.shape().delta << " decay "
                                        << static_cast<int>(problem.shape().decay));
      const testing::DeltaCase c = problem.reference_case(s, h);
      const testing::DeltaResult expected = testing::delta_reference(c);
      const std::vector<double> dout = problem.rows_of(problem.dout, s, h);
      std::vector<double> dlast;
      for (const T x : problem.state_of(problem.dlast, s, h)) dlast.push_back(x);
      const Bounds bounds = error_bounds<T>(c, dout, dlast);
      expect_within(problem.out.rows(s, h), expected.out, rounded<S>(bounds.out, expected.out), "out");
      expect_within(problem.state_of(problem.last, s, h), expected.state, bounds.state, "last");
      if (!gradients) continue;
      const testing::DeltaGradient g = testing::delta_reference_backward(c, dout, dlast);
      expect_within(problem.dq.rows(s, h), g.q, rounded<S>(bounds.dq, g.q), "dq");
      expect_within(problem.dk.rows(s, h), g.k, rounded<S>(bounds.dk, g.k), "dk");
      expect_within(problem.dv.rows(s, h), g.v, rounded<S>(bounds.dv, g.v), "dv");
      expect_within(problem.dbeta.rows(s, h), g.beta, bounds.dbeta, "dbeta");
      expect_within(problem.dlog_alpha.rows(s, h), g.log_alpha, bounds.dlog_alpha, "dlog_alpha");
      expect_within(problem.state_of(problem.dstate.memory, s, h), g.state, bounds.dstate, "dstate");
    }
}

template class Problem<float>;
template class Problem<double>;
template class Problem<BFloat16>;
template void expect_matches_reference(Problem<float>&, const Parallel&, bool);
template void expect_matches_reference(Problem<double>&, const Parallel&, bool);
template void expect_matches_reference(Problem<BFloat16>&, const Parallel&, bool);

}  // namespace longspan::kernels::delta_test
