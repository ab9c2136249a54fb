#include "longspan/nn/cost.h"

#include <algorithm>

namespace longspan::nn {
namespace {

/// Sum over p in [from, to) of min(p, reach).
double capped_sum(int64_t from, int64_t to, int64_t reach) {
  const auto below = [reach](int64_t end) {  // sum over p in [0, end)
    const double ramp = static_cast<double>(std::min(end, reach + 1));
    return ramp * (ramp - 1) / 2 +
           static_cast<double>(std::max<int64_t>(0, end - reach - 1)) * static_cast<double>(reach);
  };
  return below(to) - below(from);
}

}  // namespace

double band_pairs(int64_t queries, int64_t keys, int64_t reach_left, int64_t reach_right) {
  // The keys to the right of p number min(keys - 1 - p, reach_right): the same sum, counted from the other end.
  return static_cast<double>(queries) + capped_sum(keys - queries, keys, reach_left) +
         capped_sum(0, queries, reach_right);
}

double row_bytes(int64_t queries, int64_t keys, int64_t width, int64_t rows_per_key) {
  return 4.0 * static_cast<double>(2 * queries + rows_per_key * keys) * static_cast<double>(width);
}

}  // namespace longspan::nn
