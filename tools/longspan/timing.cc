#include "timing.h"

#include <algorithm>
#include <chrono>

#include "interrupt.h"

namespace longspan::tool {

namespace {

double timed(const std::function<void()>& call) {
  const double start = now();
  call();
  return now() - start;
}

/// Linear interpolation between order statistics; `sorted` is not empty.
double quantile(const std::vector<double>& sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const auto high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (at - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

}  // namespace

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

Timing summarize(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  Timing timing;
  timing.seconds = quantile(samples, 0.5);
  timing.spread = timing.seconds > 0 ? (quantile(samples, 0.75) - quantile(samples, 0.25)) / timing.seconds : 0;
  timing.repeats = static_cast<int>(samples.size());
  return timing;
}

std::vector<Timing> time_alternating(const std::vector<std::function<void()>>& functions, const TimingPlan& plan) {
  if (plan.warm_up)
    for (const auto& call : functions) call();
  std::vector<std::vector<double>> samples(functions.size());
  std::vector<double> totals(functions.size());
  const auto satisfied = [&](int rounds) {
    return rounds >= plan.maximum_repeats ||
           (rounds >= plan.minimum_repeats &&
            std::all_of(totals.begin(), totals.end(), [&](double t) { return t >= plan.minimum_seconds; }));
  };
  for (int rounds = 0; rounds == 0 || !satisfied(rounds); ++rounds) {
    stop_if_interrupted();
    for (std::size_t i = 0; i < functions.size(); ++i) {
      samples[i].push_back(timed(functions[i]));
      totals[i] += samples[i].back();
    }
  }
  std::vector<Timing> results;
  for (auto& sample : samples) results.push_back(summarize(std::move(sample)));
  return results;
}

}  // namespace longspan::tool
