#include "longspan/testing/reference/diffusion_reference.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "longspan/base/diffusion_seeds.h"

namespace longspan::testing {
namespace {

using Problem = DiffusionReferenceProblem;
constexpr double kNothing = -std::numeric_limits<double>::infinity();

std::size_t at(int64_t index) { return static_cast<std::size_t>(index); }

int64_t position(const Problem& p, int64_t i) { return p.start + (p.positions.empty() ? i : p.positions[at(i)]); }

double factor(const Problem& p, Dropout dropout, uint64_t seed, int64_t i, int64_t j) {
  if (!dropout.active()) return 1;
  dropout.seed = seed;
  return dropout.keeps(p.row, p.head, i, j) ? 1 / (1 - dropout.probability) : 0;
}

bool is_valid(const Problem& p, int64_t i) { return p.valid.empty() || p.valid[at(i)]; }
bool removes(const Problem& p) { return !p.valid.empty() && p.invalid_score == kNothing; }

double dot(const std::vector<double>& a, int64_t i, const std::vector<double>& b, int64_t j, int64_t width) {
  double sum = 0;
  for (int64_t c = 0; c < width; ++c) sum += a[at(i * width + c)] * b[at(j * width + c)];
  return sum;
}

// The value of a token, zero where the token was removed.
double value(const Problem& p, int64_t i, int64_t c) {
  return removes(p) && !is_valid(p, i) ? 0 : p.v[at(i * p.value_width + c)];
}

// Weights of query i, and the log of the sum of exponentials.
std::vector<double> weights_of_row(const Problem& p, int64_t i, double& lse) {
  std::vector<double> weights;
  double maximum = kNothing, sum = 0;
  for (const int64_t j : p.keys[at(i)]) {
    weights.push_back(is_valid(p, i) && is_valid(p, j) ? p.scale * dot(p.q, i, p.k, j, p.width) : p.invalid_score);
    maximum = std::max(maximum, weights.back());
  }
  lse = kNothing;
  if (maximum == kNothing) return std::vector<double>(weights.size(), 0.0);
  for (double& weight : weights) sum += weight = std::exp(weight - maximum);
  for (double& weight : weights) weight /= sum;
  lse = maximum + std::log(sum);
  return weights;
}

}  // namespace

double attention_factor(const Problem& p, int64_t hop, int64_t i, int64_t j) {
  const uint64_t seed = diffusion_attention_seed(p.attention_dropout.seed, p.dropout_per_hop ? hop : int64_t{0});
  return factor(p, p.attention_dropout, seed, position(p, i), position(p, j));
}

double feature_factor(const Problem& p, int64_t hop, int64_t i, int64_t feature) {
  return factor(p, p.hop_dropout, diffusion_hop_seed(p.hop_dropout.seed, hop), position(p, i), feature);
}

DiffusionReferenceForward diffusion_reference_forward(const Problem& p) {
  DiffusionReferenceForward result;
  const int64_t n = p.tokens, dv = p.value_width;
  result.weights.resize(at(n));
  result.lse.assign(at(n), 0.0);
  result.states.assign(at((p.hops + 1) * n * dv), 0.0);
  const auto state = [&](int64_t hop, int64_t i, int64_t c) -> double& {
    return result.states[at((hop * n + i) * dv + c)];
  };
  for (int64_t hop = 0; hop < p.hops; ++hop)
    for (int64_t i = 0; i < p.first_row; ++i)
      for (int64_t c = 0; c < dv; ++c) state(hop, i, c) = p.states[at((hop * n + i) * dv + c)];
  for (int64_t i = p.first_row; i < n; ++i) {
    result.weights[at(i)] = weights_of_row(p, i, result.lse[at(i)]);
    for (int64_t c = 0; c < dv; ++c) state(0, i, c) = p.coefficients[0] * value(p, i, c);
  }
  for (int64_t hop = 0; hop < p.hops; ++hop) {
    const double carry = p.coefficients[at(2 * hop + 1)], source = p.coefficients[at(2 * hop + 2)];
    for (int64_t i = p.first_row; i < n; ++i)
      for (int64_t c = 0; c < dv; ++c) {
        double sum = 0;
        for (std::size_t x = 0; x < p.keys[at(i)].size(); ++x) {
          const int64_t j = p.keys[at(i)][x];
          if (removes(p) && !(is_valid(p, i) && is_valid(p, j))) continue;
          sum += result.weights[at(i)][x] * attention_factor(p, hop, i, j) * state(hop, j, c);
        }
        state(hop + 1, i, c) = (carry * sum + source * value(p, i, c)) * feature_factor(p, hop, i, c);
      }
  }
  return result;
}

DiffusionReferenceBackward diffusion_reference_backward(const Problem& p, const std::vector<double>& dout,
                                                        const std::vector<double>& dstates_out) {
  const DiffusionReferenceForward forward = diffusion_reference_forward(p);
  const int64_t n = p.tokens, dv = p.value_width;
  DiffusionReferenceBackward result;
  result.dq.assign(p.q.size(), 0.0);
  result.dk.assign(p.k.size(), 0.0);
  result.dv.assign(p.v.size(), 0.0);
  result.dcoefficients.assign(p.coefficients.size(), 0.0);
  result.dstates.assign(at(p.hops * n * dv), 0.0);
  const auto state = [&](int64_t hop, int64_t i, int64_t c) { return forward.states[at((hop * n + i) * dv + c)]; };
  const auto present = [&](int64_t i) { return !removes(p) || is_valid(p, i); };
  // dstate[i][c] is the gradient of the state after the hop under way; its row is that of a new token.
  std::vector<double> dstate(at(n * dv), 0.0);
  for (int64_t i = p.first_row; i < n; ++i)
    for (int64_t c = 0; c < dv; ++c) dstate[at(i * dv + c)] = present(i) ? dout[at(i * dv + c)] : 0;
  std::vector<std::vector<double>> dweights(at(n));
  for (int64_t i = p.first_row; i < n; ++i) dweights[at(i)].assign(p.keys[at(i)].size(), 0.0);

  for (int64_t hop = p.hops - 1; hop >= 0; --hop) {
    const double carry = p.coefficients[at(2 * hop + 1)], source = p.coefficients[at(2 * hop + 2)];
    std::vector<double> before(at(n * dv), 0.0);
    for (int64_t i = p.first_row; i < n; ++i)
      for (int64_t c = 0; c < dv; ++c) {
        const double mu = dstate[at(i * dv + c)] * feature_factor(p, hop, i, c);
        result.dcoefficients[at(2 * hop + 2)] += mu * value(p, i, c);
        result.dv[at(i * dv + c)] += present(i) ? source * mu : 0;
        for (std::size_t x = 0; x < p.keys[at(i)].size(); ++x) {
          const int64_t j = p.keys[at(i)][x];
          if (!present(i) || !present(j)) continue;
          const double kept = attention_factor(p, hop, i, j), weight = forward.weights[at(i)][x] * kept;
          result.dcoefficients[at(2 * hop + 1)] += mu * weight * state(hop, j, c);
          dweights[at(i)][x] += carry * mu * kept * state(hop, j, c);
          before[at(j * dv + c)] += carry * weight * mu;
        }
      }
    for (int64_t i = 0; i < p.first_row; ++i)
      for (int64_t c = 0; c < dv; ++c) result.dstates[at((hop * n + i) * dv + c)] = before[at(i * dv + c)];
    for (int64_t i = p.first_row; i < n && !dstates_out.empty(); ++i)
      for (int64_t c = 0; c < dv; ++c) before[at(i * dv + c)] += dstates_out[at((hop * n + i) * dv + c)];
    dstate = before;
  }
  for (int64_t i = p.first_row; i < n; ++i)
    for (int64_t c = 0; c < dv; ++c) {
      result.dcoefficients[0] += dstate[at(i * dv + c)] * value(p, i, c);
      result.dv[at(i * dv + c)] += present(i) ? p.coefficients[0] * dstate[at(i * dv + c)] : 0;
    }
  for (int64_t i = p.first_row; i < n; ++i) {
    double mean = 0;
    for (std::size_t x = 0; x < p.keys[at(i)].size(); ++x) mean += forward.weights[at(i)][x] * dweights[at(i)][x];
    for (std::size_t x = 0; x < p.keys[at(i)].size(); ++x) {
      const int64_t j = p.keys[at(i)][x];
      if (!is_valid(p, i) || !is_valid(p, j)) continue;
      const double dscore = forward.weights[at(i)][x] * (dweights[at(i)][x] - mean);
      for (int64_t c = 0; c < p.width; ++c) {
        result.dq[at(i * p.width + c)] += p.scale * dscore * p.k[at(j * p.width + c)];
        result.dk[at(j * p.width + c)] += p.scale * dscore * p.q[at(i * p.width + c)];
      }
    }
  }
  return result;
}

}  // namespace longspan::testing
