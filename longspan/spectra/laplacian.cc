#include "longspan/spectra/laplacian.h"

#include <cmath>
#include <utility>

namespace longspan::spectra {

NormalisedAdjacency::NormalisedAdjacency(Topology topology, const Parallel& parallel)
    : topology_(std::move(topology)), parallel_(parallel) {
  for (const double degree : topology_.degrees()) scale_.push_back(degree > 0 ? 1 / std::sqrt(degree) : 0);
  scaled_.resize(scale_.size());
}

void NormalisedAdjacency::apply(const double* x, double* y) {
  for (std::size_t i = 0; i < scale_.size(); ++i) scaled_[i] = scale_[i] * x[i];
  topology_.apply(scaled_.data(), y, scratch_, parallel_);
  for (std::size_t i = 0; i < scale_.size(); ++i) y[i] = scale_[i] > 0 ? scale_[i] * y[i] : x[i];
}

std::vector<double> NormalisedAdjacency::stationary_direction() const {
  std::vector<double> out;
  double sum = 0;
  for (const double degree : topology_.degrees()) {
    out.push_back(degree > 0 ? std::sqrt(degree) : 1);
    sum += out.back() * out.back();
  }
  for (double& value : out) value /= std::sqrt(sum);
  return out;
}

}  // namespace longspan::spectra
