// Error bounds of the delta memory kernels by norms.
//
// Within a chunk the substitution is backward stable: the computed e_t is that of the exact recurrence with an error
// delta_t of its own, at most c u times the absolute values that were added up for it. Such an error goes on in the
// state as beta_t k_t delta_t^T by the exact recurrence, whose norm is at most max alpha, since beta |k|^2 <= 2. The
// gradient of the state runs back by the same matrices, so its errors do as well.
//
// c counts the roundings behind one term of a sum: its length (slots or width, and the chunk), at most kDeltaChunk
// factors of the decay with 6 u each (the exponential 4 u at most, its argument and the product), and the term itself.
#include <algorithm>
#include <cmath>

#include "delta_support.h"

namespace longspan::kernels::delta_test {
namespace {

constexpr double kDecayRoundings = 6 * kDeltaChunk;

double norm(const std::vector<double>& x, int64_t row, int64_t width) {
  double squares = 0;
  for (int64_t c = 0; c < width && !x.empty(); ++c) squares += x[row * width + c] * x[row * width + c];
  return std::sqrt(squares);
}

/// Norms of the rows of one case.
struct Norms {
  explicit Norms(const testing::DeltaCase& c)
      : states(testing::delta_reference(c).norms), errors(testing::delta_reference_errors(c)) {
    for (int64_t t = 0; t < c.rows; ++t) {
      q.push_back(norm(c.q, t, c.slots)), k.push_back(norm(c.k, t, c.slots)), v.push_back(norm(c.v, t, c.width));
      e.push_back(norm(errors, t, c.width)), w.push_back(std::abs(c.beta[t]) * e.back());
      double largest = c.decay_width == 0 ? 1 : 0;
      for (int64_t r = 0; r < c.decay_width; ++r)
        largest = std::max(largest, std::exp(c.log_alpha[t * c.decay_width + r]));
      alpha.push_back(largest);
    }
  }
  std::vector<double> states, errors, q, k, v, e, w, alpha;
};

/// Errors of the forward pass, row by row.
struct Forward {
  std::vector<double> error;    ///< of e_t
  std::vector<double> decayed;  ///< of S', before the write
  std::vector<double> state;    ///< of S_t
  std::vector<double> written;  ///< sum of the norms of the chunk's writes
  double out = 0, last = 0;
};
Forward forward_errors(const testing::DeltaCase& c, const Norms& n, double u) {
  const double terms = static_cast<double>(c.slots + kDeltaChunk + 8) + kDecayRoundings;
  Forward f;
  f.written.assign(c.rows, 0);
  double state = 0;
  for (int64_t begin = 0; begin < c.rows; begin += kDeltaChunk) {
    const int64_t end = std::min(c.rows, begin + kDeltaChunk);
    const double before = n.states[begin];
    double written = 0;
    for (int64_t t = begin; t < end; ++t) {
      const double own = c.delta ? terms * u * (n.v[t] + n.k[t] * (before + written)) : 0;
      state *= n.alpha[t];
      f.decayed.push_back(state);
      f.error.push_back(c.delta ? n.k[t] * state + own : 0);
      state += n.k[t] * (std::abs(c.beta[t]) * own + u * n.w[t]);
      written += n.k[t] * n.w[t];
      f.state.push_back(state);
      f.out = std::max(f.out, n.q[t] * (state + terms * u * (before + written)));
    }
    std::fill(f.written.begin() + begin, f.written.begin() + end, written);
    state += (kDeltaChunk + 4 + kDecayRoundings) * u * (before + written);
  }
  f.last = state;
  return f;
}

void add_gradients(const testing::DeltaCase& c, const Norms& n, const Forward& f, const std::vector<double>& dout,
                   const std::vector<double>& dlast, double u, Bounds& bounds) {
  const double terms = static_cast<double>(c.slots + c.width + 2 * kDeltaChunk + 8) + kDecayRoundings;
  const testing::DeltaGradient g = testing::delta_reference_backward(c, dout, dlast);
  double gradient = 0;  // error of the gradient of the state
  for (int64_t begin = (c.rows - 1) / kDeltaChunk * kDeltaChunk; c.rows > 0 && begin >= 0; begin -= kDeltaChunk) {
    const int64_t end = std::min(c.rows, begin + kDeltaChunk);
    const double behind = end < c.rows ? g.norms[end] : norm(dlast, 0, c.slots * c.width), before = n.states[begin];
    double asked = 0, returned = 0, of_decay = terms * u * before * behind;
    for (int64_t t = begin; t < end; ++t) asked += n.q[t] * norm(dout, t, c.width);
    for (int64_t t = begin; t < end; ++t) returned += c.delta ? n.k[t] * norm(g.v, t, c.width) : 0;
    for (int64_t t = end - 1; t >= begin; --t) {
      const double de = norm(g.v, t, c.width), beta = std::abs(c.beta[t]), d_o = norm(dout, t, c.width);
      const double own = terms * u * n.k[t] * (behind + asked + returned);
      const double dw_error = n.k[t] * gradient + own, de_error = beta * dw_error + u * de;
      bounds.dv = std::max(bounds.dv, de_error);
      bounds.dbeta = std::max(bounds.dbeta, dw_error * n.e[t] + de / beta * (f.error[t] + terms * u * n.e[t]));
      const double q_size = d_o * (before + f.written[t]);
      const double dq = d_o * f.state[t] + terms * u * q_size;
      bounds.dq = std::max(bounds.dq, dq);
      const double k_size =
          behind * n.w[t] + n.w[t] * (asked + returned) + (c.delta ? de * (before + f.written[t]) : 0);
      double dk = beta * (gradient * n.e[t] + g.norms[t] * f.error[t]) + terms * u * k_size;
      if (c.delta) dk += f.decayed[t] * de + n.states[t] * de_error;
      bounds.dk = std::max(bounds.dk, dk);
      of_decay += terms * u * (n.q[t] * q_size + n.k[t] * k_size);
      if (c.delta) gradient += n.k[t] * (beta * own + u * de);
      // <dS', S'>: dS' has the norm of the gradient of S_t at most.
      bounds.dlog_alpha =
          std::max(bounds.dlog_alpha, gradient * n.states[t] + g.norms[t] * (f.decayed[t] + f.error[t]));
      gradient *= n.alpha[t];
    }
    bounds.dlog_alpha += of_decay;
    gradient += (2 * kDeltaChunk + 4 + kDecayRoundings) * u * (behind + asked + returned);
  }
  bounds.dstate = gradient;
}

}  // namespace

template <class T>
Bounds error_bounds(const testing::DeltaCase& c, const std::vector<double>& dout, const std::vector<double>& dlast) {
  const double u = testing::unit_roundoff<T>();
  const Norms n(c);
  const Forward f = forward_errors(c, n, u);
  Bounds bounds;
  bounds.out = f.out, bounds.state = f.last;
  if (!dout.empty()) add_gradients(c, n, f, dout, dlast, u, bounds);
  // Twice over: for the terms of second order, and because the reference rounds too.
  for (double* x : {&bounds.out, &bounds.state, &bounds.dq, &bounds.dk, &bounds.dv, &bounds.dbeta, &bounds.dlog_alpha,
                    &bounds.dstate})
    *x *= 2;
  return bounds;
}
template Bounds error_bounds<float>(const testing::DeltaCase&, const std::vector<double>&, const std::vector<double>&);
template Bounds error_bounds<double>(const testing::DeltaCase&, const std::vector<double>&, const std::vector<double>&);

}  // namespace longspan::kernels::delta_test
