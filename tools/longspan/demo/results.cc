#include "results.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace longspan::tool {

std::optional<Cell> quality(const DemoResults& results, const std::string& attention, int64_t length) {
  Cell cell;
  double sum = 0;
  for (const QualityResult& q : results.qualities) {
    if (q.attention != attention || q.length != length) continue;
    cell.lowest = cell.seeds == 0 ? q.bits_per_byte : std::min(cell.lowest, q.bits_per_byte);
    cell.highest = cell.seeds == 0 ? q.bits_per_byte : std::max(cell.highest, q.bits_per_byte);
    cell.blocks = q.blocks;
    sum += q.bits_per_byte;
    ++cell.seeds;
  }
  if (cell.seeds == 0) return std::nullopt;
  cell.mean = sum / cell.seeds;
  return cell;
}

std::optional<double> ablation_effect(const DemoResults& results, const std::string& way, int64_t length) {
  double sum = 0;
  int count = 0;
  for (const AblatedQuality& a : results.ablations) {
    if (a.way != way || a.length != length) continue;
    for (const QualityResult& q : results.qualities)
      if (q.attention == "lavo" && q.seed == a.seed && q.length == length) {
        sum += a.bits_per_byte - q.bits_per_byte;
        ++count;
      }
  }
  if (count == 0) return std::nullopt;
  return sum / count;
}

std::optional<double> quality_on_blocks_of(const DemoResults& results, const Measured& what, const Measured& other) {
  std::set<int64_t> offsets;
  for (const QualityResult& q : results.qualities)
    if (q.attention == other.attention && q.length == other.length)
      for (const auto& [offset, bits] : q.by_block) offsets.insert(offset);
  double sum = 0;
  int count = 0;
  for (const QualityResult& q : results.qualities) {
    if (q.attention != what.attention || q.length != what.length) continue;
    for (const auto& [offset, bits] : q.by_block)
      if (offsets.contains(offset)) {
        sum += bits;
        ++count;
      }
  }
  if (count == 0) return std::nullopt;
  return sum / count;
}

std::optional<double> cost_at(const Costs& costs, const std::string& attention, int64_t length) {
  const auto found = std::find_if(costs.begin(), costs.end(),
                                  [&](const CostResult& c) { return c.attention == attention && c.length == length; });
  if (found == costs.end()) return std::nullopt;
  return found->value;
}

std::optional<double> training_speedup(const DemoResults& results, const std::string& attention, int64_t length) {
  const auto own = cost_at(results.training_speed, attention, length);
  const auto softmax = cost_at(results.training_speed, "softmax", length);
  if (!own || !softmax) return std::nullopt;
  return *softmax / *own;
}

std::optional<double> growth(const Costs& costs, const std::string& attention, int64_t from) {
  double n = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (const CostResult& c : costs) {
    if (c.attention != attention || c.length < from) continue;
    const double log_n = std::log(static_cast<double>(c.length));
    const double log_time = std::log(c.value) + log_n;
    n += 1;
    x += log_n;
    y += log_time;
    xx += log_n * log_n;
    xy += log_n * log_time;
  }
  if (n < 2) return std::nullopt;
  return (n * xy - x * y) / (n * xx - x * x);
}

report::Points extrapolated_softmax(const Costs& costs) {
  std::vector<const CostResult*> measured;
  std::set<int64_t> lengths;
  for (const CostResult& c : costs) {
    lengths.insert(c.length);
    if (c.attention == "softmax") measured.push_back(&c);
  }
  if (measured.size() < 2) return {};
  std::sort(measured.begin(), measured.end(), [](const auto* a, const auto* b) { return a->length < b->length; });
  const CostResult &low = *measured[measured.size() - 2], &high = *measured.back();
  const double slope = (high.value - low.value) / static_cast<double>(high.length - low.length);
  report::Points out;
  for (const int64_t length : lengths)
    if (length > high.length)
      out.emplace_back(static_cast<double>(length), high.value + slope * static_cast<double>(length - high.length));
  return out;
}

std::optional<BreakEven> break_even(const Costs& costs, const std::string& attention) {
  std::map<int64_t, double> excess;  // log of the ratio: above zero where softmax is cheaper
  for (const CostResult& c : costs)
    if (const auto softmax = cost_at(costs, "softmax", c.length);
        c.attention == attention && softmax && *softmax > 0 && c.value > 0)
      excess[c.length] = std::log(c.value / *softmax);
  if (excess.empty()) return std::nullopt;
  const auto [longest, at_longest] = *excess.rbegin();
  if (at_longest > 0) return BreakEven{BreakEven::Kind::never, 0, longest, longest};
  auto after = std::prev(excess.end());
  while (after != excess.begin() && std::prev(after)->second <= 0) --after;
  if (after == excess.begin()) return BreakEven{BreakEven::Kind::always, 0, after->first, after->first};
  const auto before = std::prev(after);
  const double share = before->second / (before->second - after->second);
  const double low = std::log(static_cast<double>(before->first)), high = std::log(static_cast<double>(after->first));
  return BreakEven{BreakEven::Kind::at, std::exp(low + share * (high - low)), before->first, after->first};
}

}  // namespace longspan::tool
