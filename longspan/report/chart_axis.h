// One axis of a chart: from values to drawing units, and its ticks.
#pragma once

#include <string>
#include <vector>

namespace longspan::report {

class ChartAxis {
 public:
  /// `from` and `to` are the drawing units of its ends.
  ChartAxis(bool logarithmic, double from, double to) : log_(logarithmic), from_(from), to_(to) {}

  /// Finite, and above zero on a logarithmic axis.
  bool shows(double value) const;
  void include(double value);
  bool empty() const { return empty_; }
  bool holds(double value) const { return !empty_ && shows(value) && value >= low_ && value <= high_; }

  /// Room beyond the extreme values; an axis of one value (or of several that only rounding tells apart) gets some too.
  void widen(double share);
  /// Where nothing lies below it. Plain axes alone.
  void begin_at_zero();
  double position(double value) const;

  /// About `count` round values inside the range: 1, 2, 5 times powers of ten (logarithmic over more than two decades:
  /// powers of ten). `whole`: of things that are counted, without values between two numbers.
  std::vector<double> ticks(int count, bool whole = false) const;

 private:
  double place(double value) const;
  double value(double place) const;
  std::vector<double> log_ticks() const;

  bool log_;
  double from_, to_, low_ = 0, high_ = 0;
  bool empty_ = true;
};

/// As short as it can be said in four digits: "0.25", "12", "1.5M", "2e-05".
std::string tick_label(double value);

}  // namespace longspan::report
