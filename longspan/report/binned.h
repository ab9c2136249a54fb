// A long series of measurements in little memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "longspan/report/chart.h"

namespace longspan::report {

/// Means and standard deviations of neighbours. Takes any number of samples, in ascending x, and keeps no more than
/// `most` bins of equally many samples each (the last may have fewer): when they are full, two become one.
class Binned {
 public:
  struct Bin {
    double x = 0, mean = 0;  ///< means of the samples'
    double squares = 0;      ///< sum of squared distances of the values from their mean
    int64_t count = 0;
    double deviation() const;  ///< of one sample, 0 for a single one
  };

  /// `most` is even and at least 2.
  explicit Binned(std::size_t most = 256) : most_(most) {}
  /// A value that is not finite is left out.
  void add(double x, double value);
  const std::vector<Bin>& bins() const { return bins_; }
  /// Samples in each bin but the last.
  int64_t samples_per_bin() const { return width_; }

 private:
  std::size_t most_;
  int64_t width_ = 1;
  std::vector<Bin> bins_;
};

/// The means as a line; behind it, where bins hold several samples, one standard deviation of a sample to either side.
Series series_of(std::string name, const Binned& binned);

}  // namespace longspan::report
