#include "longspan/models/sampling.h"

#include <ATen/ops/isfinite.h>

#include <algorithm>
#include <numeric>
#include <unordered_set>
#include <vector>

#include "longspan/base/check.h"
#include "longspan/base/rng.h"

namespace longspan::models {

namespace {

constexpr uint64_t kStream = 0x67656e65;  // keeps these draws apart from other uses of a seed
constexpr std::size_t kFirstSorted = 64;  // top_p sorts this many candidates, then doubles

void penalise(double* logits, int64_t count, const SamplingOptions& options, std::span<const int64_t> recent) {
  const auto window = std::min(recent.size(), static_cast<std::size_t>(options.repetition_window));
  const std::span<const int64_t> last = recent.last(window);
  for (const int64_t token : std::unordered_set<int64_t>(last.begin(), last.end())) {
    LONGSPAN_CHECK(token >= 0 && token < count, "sample: recent tokens must be from 0 to ", count - 1, ", got ", token);
    logits[token] *= logits[token] > 0 ? 1 / options.repetition_penalty : options.repetition_penalty;
  }
}

/// Shortens `ids` (in any order) to the most likely that have `mass` together; sorts no more than it must.
void keep_mass(std::vector<int64_t>& ids, const double* weight, double mass) {
  const auto likelier = [weight](int64_t a, int64_t b) {
    return weight[a] != weight[b] ? weight[a] > weight[b] : a < b;
  };
  double sum = 0;
  std::size_t sorted = 0;
  while (sorted < ids.size()) {
    const std::size_t next = std::min(ids.size(), sorted == 0 ? kFirstSorted : 2 * sorted);
    std::partial_sort(ids.begin() + static_cast<std::ptrdiff_t>(sorted),
                      ids.begin() + static_cast<std::ptrdiff_t>(next), ids.end(), likelier);
    for (; sorted < next; ++sorted) {
      sum += weight[ids[sorted]];
      if (sum >= mass) {
        ids.resize(sorted + 1);
        return;
      }
    }
  }
}

}  // namespace

int64_t sample(const at::Tensor& logits, const SamplingOptions& options, std::span<const int64_t> recent,
               double uniform) {
  LONGSPAN_CHECK(logits.numel() >= 1, "sample: there are no logits");
  // A tensor of our own: what follows changes it.
  at::Tensor values = logits.detach().flatten().to(at::kDouble, /*non_blocking=*/false, /*copy=*/true).contiguous();
  if (!values.isfinite().all().item<bool>()) throw RunError("sample: a logit is not finite");
  const int64_t count = values.numel();
  double* logit = values.mutable_data_ptr<double>();
  if (options.repetition_penalty != 1) penalise(logit, count, options, recent);
  const int64_t best = std::max_element(logit, logit + count) - logit;
  if (options.temperature == 0) return best;

  // Probabilities up to a common factor. Tiny temperatures may underflow everything but the best.
  values.sub_(logit[best]).div_(options.temperature).exp_();
  const double* weight = values.const_data_ptr<double>();

  std::vector<int64_t> ids(static_cast<std::size_t>(count));
  std::iota(ids.begin(), ids.end(), 0);
  if (options.top_k > 0 && options.top_k < count) {
    const auto kth = ids.begin() + options.top_k - 1;
    std::nth_element(ids.begin(), kth, ids.end(),
                     [weight](int64_t a, int64_t b) { return weight[a] != weight[b] ? weight[a] > weight[b] : a < b; });
    ids.resize(static_cast<std::size_t>(options.top_k));
    std::sort(ids.begin(), ids.end());  // nth_element leaves an order of its own
  }
  const auto mass = [&] {
    return std::accumulate(ids.begin(), ids.end(), 0.0, [weight](double sum, int64_t id) { return sum + weight[id]; });
  };
  const double all = options.top_p < 1 ? mass() : 0;
  // The best has weight 1. It stays, whatever the options.
  if (options.min_p > 0) std::erase_if(ids, [&](int64_t id) { return weight[id] < options.min_p; });
  if (options.top_p < 1) keep_mass(ids, weight, options.top_p * all);

  double left = uniform * mass();
  for (const int64_t id : ids) {
    if (left < weight[id]) return id;
    left -= weight[id];
  }
  // Rounding: the sum fell short of `uniform` of itself.
  return *std::max_element(ids.begin(), ids.end(), [weight](int64_t a, int64_t b) { return weight[a] < weight[b]; });
}

double draw_of(int64_t seed, int64_t position) {
  Rng rng(static_cast<uint64_t>(seed), stream_of({kStream}));
  rng.set_position(static_cast<uint64_t>(position));
  return rng.uniform();
}

}  // namespace longspan::models
