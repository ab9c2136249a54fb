// Where the units of the backward pass leave what does not belong to them alone, and how it is summed: gradients of
// keys across the border of two units, and of the position table. Fixed order, no atomics: the same bits for any
// thread count.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "longspan/base/aligned.h"
#include "longspan/base/check.h"
#include "longspan/base/parallel.h"
#include "longspan/kernels/local/local.h"
#include "longspan/kernels/local/units.h"

namespace longspan::kernels {

/// Positions of a backward unit: at least the reaches, so that a key is seen from its own unit and the two beside it.
template <class T>
int64_t backward_unit_length(const LocalParams<T>& params) {
  constexpr int64_t kSmallest = 512;
  constexpr int64_t kLargest = int64_t{1} << 40;
  const int64_t reach = std::min(std::max(params.reach_left, params.reach_right), kLargest);
  return std::max(kSmallest, (reach + kSmallest - 1) / kSmallest * kSmallest);
}

/// Partial gradients of every unit of a call.
template <class T>
class GradientSums {
 public:
  GradientSums(const LocalBackward<T>& params, const LocalUnits& units)
      : params_(params), units_(units), table_(params.dtable != nullptr) {
    int64_t borders = 0, tables = 0;
    for (int64_t s = 0; s < params.sequences; ++s) {
      const Reach reach = clamped_reach(params, params.keys.size(s));
      const int64_t count = units.units(s) * params.heads;
      border_start_.push_back(borders);
      table_start_.push_back(tables);
      if (units.units(s) > 1) borders += count * border_size(reach);
      if (table_) tables += count * table_size(reach);
    }
    borders_ = AlignedBuffer<T>(borders);
    tables_ = AlignedBuffer<double>(tables);
  }

  /// The unit's contributions to keys of its neighbours: [left + right][width + value_width], the rows of the
  /// reach.left keys before the unit, then those of the reach.right keys behind it. nullptr when it has no neighbour.
  T* border(const LocalUnit& unit, Reach reach) {
    if (units_.units(unit.sequence) <= 1) return nullptr;
    return borders_.data() + border_start_[index(unit)] + rank(unit) * border_size(reach);
  }
  /// The unit's sums of score gradients by offset j - i, [left + right + 1] from -left; nullptr when unwanted.
  double* table(const LocalUnit& unit, Reach reach) {
    return table_ ? tables_.data() + table_start_[index(unit)] + rank(unit) * table_size(reach) : nullptr;
  }

  /// Adds to the keys of `unit` what its neighbours left for them: from the unit before, then from the one behind.
  void add_borders(const LocalUnit& unit) {
    const int64_t keys = params_.keys.size(unit.sequence);
    const Reach reach = clamped_reach(params_, keys);
    LocalUnit other = unit;
    if (unit.number > 0) {
      other.number = unit.number - 1;
      const T* rows = border(other, reach) + reach.left * row_size();
      add_rows(unit, rows, unit.first, std::min(unit.first + reach.right, unit.last));
    }
    if (unit.number + 1 < units_.units(unit.sequence)) {
      other.number = unit.number + 1;
      add_rows(unit, border(other, reach), unit.last - reach.left, unit.last);
    }
  }

  /// Writes dtable: in float64 over sequences, (heads when they share it,) and units, in ascending order.
  void write_table(const Parallel& parallel) {
    if (!table_) return;
    parallel.run(params_.table_heads, [&](int64_t table_head, int) {
      std::vector<double> sums(static_cast<std::size_t>(params_.table_size), 0.0);
      const int64_t first = params_.table_heads == 1 ? 0 : table_head;
      const int64_t last = params_.table_heads == 1 ? params_.heads : table_head + 1;
      for (int64_t s = 0; s < params_.sequences; ++s) {
        const Reach reach = clamped_reach(params_, params_.keys.size(s));
        LONGSPAN_DCHECK(reach.left <= params_.table_centre && params_.table_centre + reach.right < params_.table_size,
                        "table of ", params_.table_size, ", centre ", params_.table_centre);
        for (int64_t h = first; h < last; ++h)
          for (int64_t number = 0; number < units_.units(s); ++number) {
            const double* part = table({s, h, number, 0, 0}, reach);
            double* to = sums.data() + params_.table_centre - reach.left;
            for (int64_t i = 0; i < table_size(reach); ++i) to[i] += part[i];
          }
      }
      for (int64_t i = 0; i < params_.table_size; ++i)
        params_.dtable[table_head * params_.table_size + i] = static_cast<T>(sums[static_cast<std::size_t>(i)]);
    });
  }

 private:
  static std::size_t index(const LocalUnit& unit) { return static_cast<std::size_t>(unit.sequence); }
  int64_t rank(const LocalUnit& unit) const { return unit.head * units_.units(unit.sequence) + unit.number; }
  int64_t row_size() const { return params_.width + params_.value_width; }
  int64_t border_size(Reach reach) const { return (reach.left + reach.right) * row_size(); }
  static int64_t table_size(Reach reach) { return reach.left + reach.right + 1; }

  // Adds consecutive border rows to keys [first, last).
  void add_rows(const LocalUnit& unit, const T* rows, int64_t first, int64_t last) const {
    const RowsView<T> dk = params_.keys.at(params_.dk, unit.sequence, unit.head);
    const RowsView<T> dv = params_.keys.at(params_.dv, unit.sequence, unit.head);
    for (int64_t j = first; j < last; ++j, rows += row_size()) {
      T* to = dk.data + j * dk.row_stride;
      for (int64_t c = 0; c < params_.width; ++c) to[c] += rows[c];
      to = dv.data + j * dv.row_stride;
      for (int64_t c = 0; c < params_.value_width; ++c) to[c] += rows[params_.width + c];
    }
  }

  const LocalBackward<T>& params_;
  const LocalUnits& units_;
  bool table_;
  std::vector<int64_t> border_start_, table_start_;  ///< by sequence
  AlignedBuffer<T> borders_;
  AlignedBuffer<double> tables_;
};

}  // namespace longspan::kernels
