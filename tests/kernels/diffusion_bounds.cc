#include "tests/kernels/diffusion_bounds.h"

#include <algorithm>
#include <cmath>

#include "longspan/testing/compare.h"

namespace longspan::testing {
namespace {

std::size_t at(int64_t index) { return static_cast<std::size_t>(index); }

double largest(const std::vector<double>& x) {
  double result = 0;
  for (const double value : x) result = std::max(result, std::abs(value));
  return result;
}

double largest_row_sum(const std::vector<double>& x, int64_t width) {
  double result = 0;
  for (std::size_t i = 0; i < x.size(); i += at(width)) {
    double sum = 0;
    for (std::size_t c = i; c < i + at(width); ++c) sum += std::abs(x[c]);
    result = std::max(result, sum);
  }
  return result;
}

}  // namespace

// Every step's error is what it inherits plus what its own roundings add; u is the unit roundoff. Sums of products with
// weights are bounded by the largest operand times the sum of the weights: 1 in a row, `columns` in a column, and the
// factors of dropout.
template <class T>
DiffusionBounds diffusion_bounds(const DiffusionReferenceProblem& p, const DiffusionReferenceForward& forward,
                                 const std::vector<double>& dout, const std::vector<double>& dstates_out) {
  constexpr double u = unit_roundoff<T>();
  const double d = static_cast<double>(p.width), dv = static_cast<double>(p.value_width);
  std::vector<double> column(at(p.tokens), 0.0), in(at(p.tokens), 0.0);
  double degree = 1;
  for (int64_t i = p.first_row; i < p.tokens; ++i) {
    degree = std::max(degree, static_cast<double>(p.keys[at(i)].size()));
    for (std::size_t x = 0; x < p.keys[at(i)].size(); ++x) {
      column[at(p.keys[at(i)][x])] += forward.weights[at(i)][x];
      in[at(p.keys[at(i)][x])] += 1;
    }
  }
  const double columns = std::max(1.0, largest(column)), in_degree = std::max(1.0, largest(in));
  const double query = largest(p.q), key = largest(p.k), value = largest(p.v);

  // Scores: a sum of d products, a scale, a shift by the maximum or by lse; then the exponential and a sum of `degree`.
  const double score = p.scale * std::min(largest_row_sum(p.q, p.width) * key, query * largest_row_sum(p.k, p.width));
  const double lse_size =
      score + std::log(degree) + (p.valid.empty() || std::isinf(p.invalid_score) ? 0 : std::abs(p.invalid_score));
  const double score_error = (d + 6) * u * lse_size;
  const double lse_error = score_error + (degree + 12) * u + 4 * u * lse_size;
  const double weight_error = std::expm1(score_error + lse_error + (degree + 16) * u);

  const double attention = p.attention_dropout.active() ? 1 / (1 - p.attention_dropout.probability) : 1;
  const double feature = p.hop_dropout.active() ? 1 / (1 - p.hop_dropout.probability) : 1;
  double past = 0;
  for (int64_t hop = 0; hop < p.hops; ++hop)
    for (int64_t i = 0; i < p.first_row * p.value_width; ++i)
      past = std::max(past, std::abs(p.states[at(hop * p.tokens * p.value_width + i)]));
  // State after k hops: size and error.
  std::vector<double> size = {std::max(past, std::abs(p.coefficients[0]) * value)}, error = {2 * u * size[0]};
  for (int64_t hop = 0; hop < p.hops; ++hop) {
    const double carry = std::abs(p.coefficients[at(2 * hop + 1)]), source = std::abs(p.coefficients[at(2 * hop + 2)]);
    const double z = size.back(), sum = attention * carry * z;
    size.push_back(std::max(past, feature * (sum + source * value)));
    error.push_back(feature * (attention * carry * error.back() + sum * (weight_error + (degree + 4) * u)) +
                    4 * u * size.back());
  }
  DiffusionBounds bounds;
  bounds.out = error.back() * (1 + weight_error);
  bounds.lse = lse_error;

  double mu = largest(dout), mu_error = u * mu;
  double dvalue = 0, dvalue_error = 0, dweight = 0, dweight_error = 0;
  const double added = largest(dstates_out);
  bounds.dcoefficient = bounds.dstates = 0;
  const double rows = static_cast<double>(p.tokens);
  for (int64_t hop = p.hops - 1; hop >= 0; --hop) {
    const double carry = std::abs(p.coefficients[at(2 * hop + 1)]), source = std::abs(p.coefficients[at(2 * hop + 2)]);
    const double z = size[at(hop)], z_error = error[at(hop)];
    mu *= feature;
    mu_error = feature * mu_error + 2 * u * mu;
    dvalue += source * mu;
    dvalue_error += source * mu_error + 3 * u * dvalue;
    dweight += attention * carry * dv * mu * z;
    dweight_error += attention * carry * dv * (mu_error * z + mu * z_error + (dv + 6) * u * mu * z) + 3 * u * dweight;
    const double sum = attention * columns * mu;
    const double sum_error = attention * columns * mu_error + sum * (weight_error + (in_degree + 6) * u);
    bounds.dcoefficient = std::max({bounds.dcoefficient, rows * dv * (mu_error * value + (dv + 6) * u * mu * value),
                                    rows * dv * (sum_error * z + sum * z_error + (dv + 6) * u * sum * z)});
    bounds.dstates = std::max(bounds.dstates, carry * sum_error + 2 * u * carry * sum);
    mu = carry * sum + added;
    mu_error = carry * sum_error + 4 * u * mu;
  }
  const double start = std::abs(p.coefficients[0]);
  bounds.dcoefficient = std::max(bounds.dcoefficient, rows * dv * (mu_error * value + (dv + 6) * u * mu * value)) +
                        2 * u * rows * dv * mu * value;
  dvalue += start * mu;
  bounds.dv = dvalue_error + start * mu_error + 4 * u * dvalue;
  // dS = A (dA - sum A dA): what a weight of one makes of it.
  const double dscore = 2 * dweight;
  const double dscore_error = 2 * dweight_error + dscore * (3 * weight_error + (degree + 8) * u);
  bounds.dq = p.scale * key * (dscore_error + dscore * (degree + 6) * u);
  bounds.dk = p.scale * query * columns * (dscore_error + dscore * (in_degree + 6) * u);
  return bounds;
}

template DiffusionBounds diffusion_bounds<float>(const DiffusionReferenceProblem&, const DiffusionReferenceForward&,
                                                 const std::vector<double>&, const std::vector<double>&);
template DiffusionBounds diffusion_bounds<double>(const DiffusionReferenceProblem&, const DiffusionReferenceForward&,
                                                  const std::vector<double>&, const std::vector<double>&);

}  // namespace longspan::testing
