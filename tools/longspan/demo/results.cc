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
  for (const AblationResult& a : results.ablations) {
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

const SpeedResult* find_speed(const std::vector<SpeedResult>& speeds, const std::string& attention, int64_t length) {
  const auto found = std::find_if(speeds.begin(), speeds.end(),
                                  [&](const SpeedResult& s) { return s.attention == attention && s.length == length; });
  return found == speeds.end() ? nullptr : &*found;
}

std::optional<double> training_speedup(const DemoResults& results, const std::string& attention, int64_t length) {
  const SpeedResult* own = find_speed(results.training_speed, attention, length);
  const SpeedResult* softmax = find_speed(results.training_speed, "softmax", length);
  if (!own || !softmax) return std::nullopt;
  return softmax->us_per_token / own->us_per_token;
}

std::optional<double> growth(const std::vector<SpeedResult>& speeds, const std::string& attention, int64_t from) {
  double n = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (const SpeedResult& s : speeds) {
    if (s.attention != attention || s.length < from) continue;
    const double log_n = std::log(static_cast<double>(s.length));
    const double log_time = std::log(s.us_per_token) + log_n;
    n += 1;
    x += log_n;
    y += log_time;
    xx += log_n * log_n;
    xy += log_n * log_time;
  }
  if (n < 2) return std::nullopt;
  return (n * xy - x * y) / (n * xx - x * x);
}

std::vector<std::pair<double, double>> extrapolated_softmax(const DemoResults& results) {
  std::vector<const SpeedResult*> measured;
  std::set<int64_t> lengths;
  for (const SpeedResult& s : results.forward_speed) {
    lengths.insert(s.length);
    if (s.attention == "softmax") measured.push_back(&s);
  }
  if (measured.size() < 2) return {};
  std::sort(measured.begin(), measured.end(), [](const auto* a, const auto* b) { return a->length < b->length; });
  const SpeedResult &low = *measured[measured.size() - 2], &high = *measured.back();
  const double slope = (high.us_per_token - low.us_per_token) / static_cast<double>(high.length - low.length);
  std::vector<std::pair<double, double>> out;
  for (const int64_t length : lengths)
    if (length > high.length)
      out.emplace_back(static_cast<double>(length),
                       high.us_per_token + slope * static_cast<double>(length - high.length));
  return out;
}

}  // namespace longspan::tool
