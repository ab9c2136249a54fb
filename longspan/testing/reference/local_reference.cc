#include "longspan/testing/reference/local_reference.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace longspan::testing {
namespace {

// Softmax weights of query row i over all keys, zero outside the window, and their log-sum-exp.
std::vector<double> weights_of_row(const LocalReferenceProblem& p, int64_t i, double& lse) {
  const double nothing = -std::numeric_limits<double>::infinity();
  const int64_t position = p.keys - p.queries + i;
  std::vector<double> scores(static_cast<std::size_t>(p.keys), nothing);
  double maximum = nothing;
  for (int64_t j = 0; j < p.keys; ++j) {
    if (position - j > p.reach_left || j - position > p.reach_right) continue;
    double dot = 0;
    for (int64_t c = 0; c < p.width; ++c)
      dot += p.q[static_cast<std::size_t>(i * p.width + c)] * p.k[static_cast<std::size_t>(j * p.width + c)];
    double score = p.scale * dot;
    if (!p.table.empty()) score += p.table[static_cast<std::size_t>(j - position + p.table_centre)];
    scores[static_cast<std::size_t>(j)] = score;
    maximum = std::max(maximum, score);
  }
  double sum = 0;
  std::vector<double> weights(scores.size(), 0.0);
  if (maximum == nothing) {
    lse = nothing;
    return weights;
  }
  for (std::size_t j = 0; j < scores.size(); ++j) {
    weights[j] = std::exp(scores[j] - maximum);
    sum += weights[j];
  }
  for (double& weight : weights) weight /= sum;
  lse = maximum + std::log(sum);
  return weights;
}

// What dropout multiplies the weight of query row i for key j with.
double dropout_factor(const LocalReferenceProblem& p, int64_t i, int64_t j) {
  if (!p.dropout.active()) return 1;
  const int64_t position = p.keys - p.queries + i;
  const bool kept = p.dropout.keeps(p.row, p.head, p.start + position, p.start + j);
  return kept ? 1 / (1 - p.dropout.probability) : 0;
}

}  // namespace

LocalReferenceForward local_reference_forward(const LocalReferenceProblem& p) {
  LocalReferenceForward result;
  result.out.assign(static_cast<std::size_t>(p.queries * p.value_width), 0.0);
  result.lse.assign(static_cast<std::size_t>(p.queries), 0.0);
  for (int64_t i = 0; i < p.queries; ++i) {
    const std::vector<double> weights = weights_of_row(p, i, result.lse[static_cast<std::size_t>(i)]);
    for (int64_t j = 0; j < p.keys; ++j) {
      const double weight = weights[static_cast<std::size_t>(j)] * dropout_factor(p, i, j);
      if (weight == 0) continue;
      for (int64_t c = 0; c < p.value_width; ++c)
        result.out[static_cast<std::size_t>(i * p.value_width + c)] +=
            weight * p.v[static_cast<std::size_t>(j * p.value_width + c)];
    }
  }
  return result;
}

LocalReferenceBackward local_reference_backward(const LocalReferenceProblem& p, const std::vector<double>& dout) {
  LocalReferenceBackward result;
  result.dq.assign(p.q.size(), 0.0);
  result.dk.assign(p.k.size(), 0.0);
  result.dv.assign(p.v.size(), 0.0);
  result.dtable.assign(p.table.size(), 0.0);
  for (int64_t i = 0; i < p.queries; ++i) {
    double lse = 0;
    const std::vector<double> weights = weights_of_row(p, i, lse);
    // Gradient of the weights, then of the scores: p (dp - <p, dp>).
    std::vector<double> dweights(weights.size(), 0.0);
    double mean = 0;
    for (int64_t j = 0; j < p.keys; ++j) {
      const std::size_t sj = static_cast<std::size_t>(j);
      if (weights[sj] == 0) continue;
      const double factor = dropout_factor(p, i, j);
      for (int64_t c = 0; c < p.value_width; ++c) {
        const double gradient = factor * dout[static_cast<std::size_t>(i * p.value_width + c)];
        dweights[sj] += gradient * p.v[static_cast<std::size_t>(j * p.value_width + c)];
        result.dv[static_cast<std::size_t>(j * p.value_width + c)] += weights[sj] * gradient;
      }
      mean += weights[sj] * dweights[sj];
    }
    for (int64_t j = 0; j < p.keys; ++j) {
      const std::size_t sj = static_cast<std::size_t>(j);
      if (weights[sj] == 0) continue;
      const double dscore = weights[sj] * (dweights[sj] - mean);
      for (int64_t c = 0; c < p.width; ++c) {
        const std::size_t iq = static_cast<std::size_t>(i * p.width + c),
                          jk = static_cast<std::size_t>(j * p.width + c);
        result.dq[iq] += p.scale * dscore * p.k[jk];
        result.dk[jk] += p.scale * dscore * p.q[iq];
      }
      if (!p.table.empty())
        result.dtable[static_cast<std::size_t>(j - (p.keys - p.queries + i) + p.table_centre)] += dscore;
    }
  }
  return result;
}

}  // namespace longspan::testing
