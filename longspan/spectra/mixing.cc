#include "longspan/spectra/mixing.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "longspan/base/check.h"

namespace longspan::spectra {

namespace {

/// Bounds of times beyond this say no more than that there is none.
constexpr double kMostSteps = 1e15;

/// How strongly a walk from each vertex excites what decays slowest.
std::vector<double> slow_mode(const Topology& topology, const Extremes& extremes) {
  const bool at_second = std::abs(1 - extremes.second.value) >= std::abs(1 - extremes.largest.value);
  const std::vector<double>& vector = (at_second ? extremes.second : extremes.largest).vector;
  const std::vector<double>& degrees = topology.degrees();
  std::vector<double> out(degrees.size());
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = vector.empty() ? -degrees[i] : std::abs(vector[i]) / std::sqrt(std::max(degrees[i], 1.0));
  return out;
}

}  // namespace

std::vector<double> stationary_law(const Topology& topology) {
  std::vector<double> law = topology.degrees();
  const double sum = std::accumulate(law.begin(), law.end(), 0.0);
  for (double& share : law) share = sum > 0 ? share / sum : 0;
  return law;
}

double mixing_bound(double beta, double least_share, int64_t steps) {
  return std::pow(beta, static_cast<double>(steps)) / (2 * std::sqrt(least_share));
}

std::optional<int64_t> mixing_time_bound(double beta, double least_share, double delta) {
  LONGSPAN_CHECK(delta > 0, "mixing: delta must be above 0, got ", delta);
  const double at_once = mixing_bound(1, least_share, 0);
  if (at_once <= delta) return 0;
  if (beta <= 0) return 1;
  const double steps = std::ceil(std::log(at_once / delta) / -std::log(beta));
  if (!(beta < 1) || !(steps < kMostSteps)) return std::nullopt;
  return static_cast<int64_t>(steps);
}

Walk measure_walk(const Topology& topology, int64_t start, const MixingOptions& options, const Parallel& parallel,
                  Progress* progress) {
  const int64_t n = topology.size();
  LONGSPAN_CHECK(start >= 0 && start < n, "mixing: a walk must start at one of the ", n, " tokens, got ", start);
  const std::vector<double> law = stationary_law(topology);
  const std::vector<double>& degrees = topology.degrees();
  std::vector<double> place(static_cast<std::size_t>(n), 0), spread(place.size()), next(place.size());
  place[static_cast<std::size_t>(start)] = 1;
  Topology::Scratch scratch;
  Walk out;
  out.start = start;
  for (int64_t step = 0;; ++step) {
    double distance = 0;
    for (std::size_t i = 0; i < place.size(); ++i) distance += std::abs(place[i] - law[i]) / 2;
    out.distance.push_back(distance);
    if (distance <= options.delta && !out.mixing_time) out.mixing_time = step;
    if (distance <= options.delta / 10 || step >= options.most_steps) return out;
    for (std::size_t i = 0; i < place.size(); ++i) spread[i] = degrees[i] > 0 ? place[i] / degrees[i] : 0;
    topology.apply(spread.data(), next.data(), scratch, parallel);
    for (std::size_t i = 0; i < place.size(); ++i)
      if (degrees[i] == 0) next[i] = place[i];  // nowhere to go
    place.swap(next);
    if (progress) progress->report({"walk", "steps", step + 1, options.most_steps, 0});
  }
}

Mixing measure_mixing(const Topology& topology, const Extremes& extremes, const MixingOptions& options,
                      const Parallel& parallel, Progress* progress) {
  const int64_t n = topology.size();
  LONGSPAN_CHECK(n >= 2, "mixing: at least two tokens are needed, got ", n);
  Mixing out;
  out.delta = options.delta;
  out.least_share = std::numeric_limits<double>::infinity();
  for (const double share : stationary_law(topology))
    if (share > 0) out.least_share = std::min(out.least_share, share);
  if (topology.components() == 1) out.bound = mixing_time_bound(extremes.beta, out.least_share, options.delta);
  const std::vector<double> mode = slow_mode(topology, extremes);
  std::vector<int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return mode[static_cast<std::size_t>(a)] > mode[static_cast<std::size_t>(b)];
  });
  out.worst = measure_walk(topology, order.front(), options, parallel, progress);
  out.typical = measure_walk(topology, order[order.size() / 2], options, parallel, progress);
  return out;
}

}  // namespace longspan::spectra
