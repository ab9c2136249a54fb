#include "longspan/report/chart_axis.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "longspan/report/format.h"

namespace longspan::report {

namespace {
constexpr std::size_t kLongTick = 6;  // letters beside the axis that there is room for
}

bool ChartAxis::shows(double value) const { return std::isfinite(value) && (!log_ || value > 0); }

void ChartAxis::include(double value) {
  if (!shows(value)) return;
  low_ = empty_ ? value : std::min(low_, value);
  high_ = empty_ ? value : std::max(high_, value);
  empty_ = false;
}

void ChartAxis::widen(double share) {
  const double low = place(low_), high = place(high_);
  // Values that differ by their rounding alone are one: ticks between them could not be told apart.
  const double size = std::max(std::abs(low), std::abs(high));
  const bool several = high - low > 1e-9 * (log_ ? 1 : size);
  const double alone = size > 0 ? std::max(0.1 * size, std::min(size, 0.5)) : 0.5;
  const double margin = several ? share * (high - low) : log_ ? 0.1 : alone;
  low_ = value(low - margin);
  high_ = value(high + margin);
}

void ChartAxis::begin_at_zero() {
  if (high_ > 0 && low_ < high_) low_ = 0;
}

double ChartAxis::position(double v) const {
  return from_ + (place(v) - place(low_)) / (place(high_) - place(low_)) * (to_ - from_);
}

std::vector<double> ChartAxis::log_ticks() const {
  std::vector<double> out;
  const double decades = std::log10(high_ / low_);
  const int step = std::max(1, static_cast<int>(std::ceil(decades / 6)));  // at most seven powers
  for (int power = static_cast<int>(std::floor(std::log10(low_))); power <= std::log10(high_); ++power)
    for (const double factor : {1.0, 2.0, 5.0}) {
      if (decades > 2 && (factor != 1 || power % step != 0)) continue;
      const double tick = factor * std::pow(10, power);
      if (tick >= low_ && tick <= high_) out.push_back(tick);
    }
  return out;
}

std::vector<double> ChartAxis::ticks(int count, bool whole) const {
  constexpr double kDecade = 10;  // within one, round steps say more than the powers of ten
  if (log_ && high_ >= kDecade * low_)
    if (auto out = log_ticks(); out.size() >= 2) return out;
  std::vector<double> out;
  const double rough = (high_ - low_) / count, power = std::pow(10, std::floor(std::log10(rough)));
  const double round = power * (rough / power < 1.5 ? 1 : rough / power < 3.5 ? 2 : rough / power < 7.5 ? 5 : 10);
  const double step = whole ? std::max(round, 1.0) : round;
  for (double tick = std::ceil(low_ / step) * step; tick <= high_ + 1e-9 * step; tick += step)
    out.push_back(std::abs(tick) < 1e-9 * step ? 0 : tick);
  return out;
}

double ChartAxis::place(double v) const { return log_ ? std::log10(v) : v; }
double ChartAxis::value(double p) const { return log_ ? std::pow(10, p) : p; }

std::string tick_label(double value) {
  constexpr std::pair<double, const char*> kUnits[] = {{1e9, "G"}, {1e6, "M"}, {1e3, "k"}};
  std::string unit;
  if (std::abs(value) >= 10000)
    for (const auto& [size, name] : kUnits)
      if (std::abs(value) >= size) {
        value /= size;
        unit = name;
        break;
      }
  std::string text = significant(value, 4);
  if (text.find('.') != std::string::npos && text.find('e') == std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
    // 0.00001 would begin left of the drawing.
    if (text.size() > kLongTick)
      if (const std::string power = number(std::stod(text)); power.size() < text.size()) text = power;
  }
  return text + unit;
}

}  // namespace longspan::report
