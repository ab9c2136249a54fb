#include "longspan/report/binned.h"

#include <cmath>

namespace longspan::report {

namespace {

Binned::Bin merged(const Binned::Bin& a, const Binned::Bin& b) {
  Binned::Bin out;
  out.count = a.count + b.count;
  const double share = static_cast<double>(b.count) / static_cast<double>(out.count);
  const double distance = b.mean - a.mean;
  out.x = a.x + share * (b.x - a.x);
  out.mean = a.mean + share * distance;
  out.squares = a.squares + b.squares + distance * distance * share * static_cast<double>(a.count);
  return out;
}

}  // namespace

double Binned::Bin::deviation() const { return count > 1 ? std::sqrt(squares / static_cast<double>(count - 1)) : 0; }

void Binned::add(double x, double value) {
  if (!std::isfinite(x) || !std::isfinite(value)) return;
  const Bin sample = {x, value, 0, 1};
  if (!bins_.empty() && bins_.back().count < width_) {
    bins_.back() = merged(bins_.back(), sample);
    return;
  }
  if (bins_.size() == most_) {
    for (std::size_t i = 0; i < most_ / 2; ++i) bins_[i] = merged(bins_[2 * i], bins_[2 * i + 1]);
    bins_.resize(most_ / 2);
    width_ *= 2;
  }
  bins_.push_back(sample);
}

Series series_of(std::string name, const Binned& binned) {
  Series series;
  series.name = std::move(name);
  for (const Binned::Bin& bin : binned.bins()) {
    series.points.emplace_back(bin.x, bin.mean);
    if (bin.count > 1) series.band.push_back({bin.x, bin.mean - bin.deviation(), bin.mean + bin.deviation()});
  }
  return series;
}

}  // namespace longspan::report
