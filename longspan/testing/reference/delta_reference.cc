#include "longspan/testing/reference/delta_reference.h"

#include <algorithm>
#include <cmath>

namespace longspan::testing {
namespace {

using Matrix = std::vector<double>;  // [slots][width]

Matrix initial_state(const DeltaCase& c) { return c.state.empty() ? Matrix(c.slots * c.width, 0.0) : c.state; }

double alpha(const DeltaCase& c, int64_t t, int64_t r) {
  if (c.decay_width == 0) return 1;
  return std::exp(c.log_alpha[c.decay_width == 1 ? t : t * c.slots + r]);
}

/// S' = Diag(alpha_t) S.
void decay(const DeltaCase& c, int64_t t, Matrix& state) {
  for (int64_t r = 0; r < c.slots; ++r) {
    const double factor = alpha(c, t, r);
    for (int64_t j = 0; j < c.width; ++j) state[r * c.width + j] *= factor;
  }
}

/// [width] x^T S for a row x of slots.
std::vector<double> read(const DeltaCase& c, const double* x, const Matrix& state) {
  std::vector<double> out(c.width, 0.0);
  for (int64_t r = 0; r < c.slots; ++r)
    for (int64_t j = 0; j < c.width; ++j) out[j] += x[r] * state[r * c.width + j];
  return out;
}

/// e_t for the decayed state.
std::vector<double> error(const DeltaCase& c, int64_t t, const Matrix& decayed) {
  std::vector<double> e(c.v.begin() + t * c.width, c.v.begin() + (t + 1) * c.width);
  if (!c.delta) return e;
  const std::vector<double> predicted = read(c, &c.k[t * c.slots], decayed);
  for (int64_t j = 0; j < c.width; ++j) e[j] -= predicted[j];
  return e;
}

/// S += x y^T.
void add_outer(const DeltaCase& c, double factor, const double* x, const double* y, Matrix& state) {
  for (int64_t r = 0; r < c.slots; ++r)
    for (int64_t j = 0; j < c.width; ++j) state[r * c.width + j] += factor * x[r] * y[j];
}

/// From S_{t-1} to S_t; returns e_t.
std::vector<double> step(const DeltaCase& c, int64_t t, Matrix& state) {
  decay(c, t, state);
  const std::vector<double> e = error(c, t, state);
  add_outer(c, c.beta[t], &c.k[t * c.slots], e.data(), state);
  return e;
}

double dot(const double* x, const double* y, int64_t size) {
  double sum = 0;
  for (int64_t i = 0; i < size; ++i) sum += x[i] * y[i];
  return sum;
}

double norm(const Matrix& x) { return std::sqrt(dot(x.data(), x.data(), static_cast<int64_t>(x.size()))); }

}  // namespace

DeltaResult delta_reference(const DeltaCase& c) {
  DeltaResult result{{}, initial_state(c), {}};
  result.norms.push_back(norm(result.state));
  for (int64_t t = 0; t < c.rows; ++t) {
    step(c, t, result.state);
    const std::vector<double> o = read(c, &c.q[t * c.slots], result.state);
    result.out.insert(result.out.end(), o.begin(), o.end());
    result.norms.push_back(norm(result.state));
  }
  return result;
}

std::vector<double> delta_reference_errors(const DeltaCase& c) {
  std::vector<double> errors;
  Matrix state = initial_state(c);
  for (int64_t t = 0; t < c.rows; ++t) {
    const std::vector<double> e = step(c, t, state);
    errors.insert(errors.end(), e.begin(), e.end());
  }
  return errors;
}

DeltaGradient delta_reference_backward(const DeltaCase& c, const std::vector<double>& dout,
                                       const std::vector<double>& dstate) {
  std::vector<Matrix> states{initial_state(c)};
  for (int64_t t = 0; t < c.rows; ++t) {
    states.push_back(states.back());
    step(c, t, states.back());
  }
  DeltaGradient g;
  g.q.assign(c.q.size(), 0), g.k = g.q, g.v.assign(c.v.size(), 0), g.beta.assign(c.rows, 0);
  g.log_alpha.assign(c.rows * c.decay_width, 0), g.norms = g.beta;
  Matrix ds = dstate.empty() ? Matrix(c.slots * c.width, 0.0) : dstate;
  for (int64_t t = c.rows - 1; t >= 0; --t) {
    const double* q = &c.q[t * c.slots];
    const double* k = &c.k[t * c.slots];
    const double* d_o = &dout[t * c.width];
    for (int64_t r = 0; r < c.slots; ++r) g.q[t * c.slots + r] = dot(&states[t + 1][r * c.width], d_o, c.width);
    add_outer(c, 1, q, d_o, ds);
    g.norms[t] = norm(ds);
    // S_t = S' + beta k e^T and e = v - S'^T k, from behind.
    Matrix decayed = states[t];
    decay(c, t, decayed);
    const std::vector<double> e = error(c, t, decayed);
    std::vector<double> de = read(c, k, ds);
    g.beta[t] = dot(de.data(), e.data(), c.width);
    for (double& x : de) x *= c.beta[t];
    for (int64_t r = 0; r < c.slots; ++r) {
      g.k[t * c.slots + r] = c.beta[t] * dot(&ds[r * c.width], e.data(), c.width);
      if (c.delta) g.k[t * c.slots + r] -= dot(&decayed[r * c.width], de.data(), c.width);
    }
    std::copy(de.begin(), de.end(), g.v.begin() + t * c.width);
    if (c.delta) add_outer(c, -1, k, de.data(), ds);
    for (int64_t r = 0; r < c.slots; ++r) {
      const double of_log = dot(&ds[r * c.width], &decayed[r * c.width], c.width), factor = alpha(c, t, r);
      if (c.decay_width > 0) g.log_alpha[c.decay_width == 1 ? t : t * c.slots + r] += of_log;
      for (int64_t j = 0; j < c.width; ++j) ds[r * c.width + j] *= factor;
    }
  }
  g.state = ds;
  return g;
}

}  // namespace longspan::testing
