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

double block_pairs(int64_t queries, int64_t keys, int64_t block, bool causal) {
  const auto below = [&](int64_t end) {  // of the queries at positions [0, end)
    const int64_t whole = end / block, rest = end % block;
    const double each = causal ? static_cast<double>(block + 1) / 2 : static_cast<double>(block);
    const int64_t last = std::min(block, keys - whole * block);  // keys of the block that `rest` begins
    const double in_last =
        static_cast<double>(rest) * (causal ? static_cast<double>(rest + 1) / 2 : static_cast<double>(last));
    return static_cast<double>(whole * block) * each + in_last;
  };
  return below(keys) - below(keys - queries);
}

double row_bytes(int64_t queries, int64_t keys, int64_t width, int64_t key_width, int64_t rows_per_key) {
  return 4.0 * (static_cast<double>(2 * queries) * static_cast<double>(width) +
                static_cast<double>(rows_per_key * keys) * static_cast<double>(key_width));
}

}  // namespace longspan::nn
