// Sums over runs of neighbours, each in constant time.
#pragma once

#include <cstdint>
#include <vector>

namespace longspan::spectra {

/// Prefix sums of a vector, kept as the rounded sum and what was lost in rounding it (two-sum, Knuth): the sum of a run
/// is as exact as if its terms alone had been added, however much stands before it. With plain prefix sums an
/// eigenvalue near 0 of a long window would drown.
class RangeSums {
 public:
  /// Values at(0) .. at(n - 1).
  template <class At>
  void reset(int64_t n, const At& at) {
    sum_.resize(static_cast<std::size_t>(n) + 1);
    lost_.resize(static_cast<std::size_t>(n) + 1);
    sum_[0] = lost_[0] = 0;
    double sum = 0, lost = 0;
    for (int64_t i = 0; i < n; ++i) {
      const double x = at(i), next = sum + x, taken = next - sum;
      lost += (sum - (next - taken)) + (x - taken);
      sum = next;
      sum_[static_cast<std::size_t>(i) + 1] = sum;
      lost_[static_cast<std::size_t>(i) + 1] = lost;
    }
  }
  /// Over [begin, end), begin <= end.
  double operator()(int64_t begin, int64_t end) const {
    const auto b = static_cast<std::size_t>(begin), e = static_cast<std::size_t>(end);
    return (sum_[e] - sum_[b]) + (lost_[e] - lost_[b]);
  }

 private:
  std::vector<double> sum_, lost_;
};

}  // namespace longspan::spectra
