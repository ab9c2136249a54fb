// Where the units of the backward pass leave what does not belong to them alone, and how it is summed: gradients of
// keys across the border of two units, and of the position table. Fixed order, no atomics: the same bits for any
// thread count.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "longspan/base/aligned.h"
#include "longspan/base/check.h"
#include "longspan/base/parallel.h"
#include "longspan/kernels/local/local.h"
#include "longspan/kernels/local/units.h"

namespace longspan::kernels {

/// Positions of a backward unit: at least the reaches, so that a key is seen from its own unit and the two beside it.
/// Where gradients are rounded a unit leaves twice as much beside them (UnitSums::own): four times both reaches keep
/// that below one half of dk and dv in the type of the sums.
template <class S>
int64_t backward_unit_length(const LocalParams<S>& params) {
  constexpr int64_t kSmallest = 512;
  constexpr int64_t kLargest = int64_t{1} << 40;
  const int64_t left = std::min(params.reach_left, kLargest), right = std::min(params.reach_right, kLargest);
  const int64_t least = std::is_same_v<S, Computed<S>> ? std::max(left, right) : 4 * (left + right);
  return std::max(kSmallest, (least + kSmallest - 1) / kSmallest * kSmallest);
}

/// Where a unit leaves its part of what is summed over units.
template <class T>
struct UnitSums {
  /// Contributions to keys of its neighbours: [left + right][width + value_width], the rows of the reach.left keys
  /// before the unit, then those of the reach.right keys behind it. nullptr when it has no neighbour.
  T* border = nullptr;
  /// Its own part for keys that a neighbour adds to, where dk and dv cannot hold it unrounded (own_row); else nullptr.
  T* own = nullptr;
};

/// The keys of a unit that a neighbour adds to: those within reach of its borders.
struct SharedKeys {
  int64_t first, last;     ///< of the unit
  int64_t before, behind;  ///< how many of them the unit before and the unit behind see

  bool from_before(int64_t j) const { return j < first + before; }
  bool from_behind(int64_t j) const { return j >= last - behind; }
  bool holds(int64_t j) const { return from_before(j) || from_behind(j); }
  /// Row of key j in UnitSums::own.
  int64_t own_row(int64_t j) const { return from_before(j) ? j - first : before + (j - (last - behind)); }
};

/// Partial gradients of every unit of a call.
template <class S, class O>
class GradientSums {
  using T = Computed<S>;
  static constexpr bool kRounded = !std::is_same_v<S, T>;

 public:
  GradientSums(const LocalBackward<S, O>& params, const LocalUnits& units)
      : params_(params), units_(units), table_(params.dtable != nullptr) {
    int64_t borders = 0, tables = 0;
    for (int64_t s = 0; s < params.sequences; ++s) {
      const Reach reach = clamped_reach(params, params.keys.size(s));
      border_start_.push_back(borders);
      table_start_.push_back(tables);
      if (units.units(s) > 1) borders += units.units(s) * key_heads(params) * unit_size(reach);
      if (table_) tables += units.units(s) * params.heads * table_size(reach);
    }
    borders_ = AlignedBuffer<T>(borders);
    tables_ = AlignedBuffer<double>(tables);
  }

  UnitSums<T> unit(const LocalUnit& unit, Reach reach) {
    if (units_.units(unit.sequence) <= 1) return {};
    T* rows = borders_.data() + border_start_[index(unit.sequence)] +
              (unit.key_head * units_.units(unit.sequence) + unit.number) * unit_size(reach);
    return {rows, kRounded ? rows + border_size(reach) : nullptr};
  }
  /// Sums of score gradients of a query head by offset j - i, [left + right + 1] from -left; nullptr when unwanted.
  double* table(const LocalUnit& unit, int64_t head, Reach reach) {
    if (!table_) return nullptr;
    return tables_.data() + table_start_[index(unit.sequence)] +
           (head * units_.units(unit.sequence) + unit.number) * table_size(reach);
  }
  SharedKeys shared_keys(const LocalUnit& unit, Reach reach) const {
    const int64_t size = unit.last - unit.first;
    return {unit.first, unit.last, unit.number > 0 ? std::min(reach.right, size) : 0,
            unit.number + 1 < units_.units(unit.sequence) ? reach.left : 0};
  }

  /// Adds to the keys of `unit` what its neighbours left for them: from the unit before, then from the one behind.
  void add_borders(const LocalUnit& unit) {
    const Reach reach = clamped_reach(params_, params_.keys.size(unit.sequence));
    const SharedKeys shared = shared_keys(unit, reach);
    const UnitSums<T> own = this->unit(unit, reach);
    LocalUnit other = unit;
    other.number = unit.number - 1;
    const T* before = shared.before > 0 ? this->unit(other, reach).border + reach.left * row_size() : nullptr;
    other.number = unit.number + 1;
    const T* behind = shared.behind > 0 ? this->unit(other, reach).border : nullptr;
    const RowsView<S> dk = params_.keys.at(params_.dk, unit.sequence, unit.key_head);
    const RowsView<S> dv = params_.keys.at(params_.dv, unit.sequence, unit.key_head);
    const auto add_key = [&](int64_t j) {
      const T* from_before = shared.from_before(j) ? before + (j - unit.first) * row_size() : nullptr;
      const T* from_behind = shared.from_behind(j) ? behind + (j - (unit.last - shared.behind)) * row_size() : nullptr;
      const T* kept = kRounded ? own.own + shared.own_row(j) * row_size() : nullptr;
      const auto add = [&](S* to, int64_t at, int64_t width) {
        for (int64_t c = at; c < at + width; ++c, ++to) {
          T sum = kRounded ? kept[c] : static_cast<T>(*to);
          if (from_before) sum += from_before[c];
          if (from_behind) sum += from_behind[c];
          *to = static_cast<S>(sum);
        }
      };
      add(dk.data + j * dk.row_stride, 0, params_.width);
      add(dv.data + j * dv.row_stride, params_.width, params_.value_width);
    };
    for (int64_t j = unit.first; j < unit.first + shared.before; ++j) add_key(j);
    for (int64_t j = std::max(unit.first + shared.before, unit.last - shared.behind); j < unit.last; ++j) add_key(j);
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
            const double* part = table({.sequence = s, .number = number}, h, reach);
            double* to = sums.data() + params_.table_centre - reach.left;
            for (int64_t i = 0; i < table_size(reach); ++i) to[i] += part[i];
          }
      }
      for (int64_t i = 0; i < params_.table_size; ++i)
        params_.dtable[table_head * params_.table_size + i] = static_cast<T>(sums[static_cast<std::size_t>(i)]);
    });
  }

 private:
  static std::size_t index(int64_t sequence) { return static_cast<std::size_t>(sequence); }
  int64_t row_size() const { return params_.width + params_.value_width; }
  int64_t border_size(Reach reach) const { return (reach.left + reach.right) * row_size(); }
  int64_t unit_size(Reach reach) const { return (kRounded ? 2 : 1) * border_size(reach); }
  static int64_t table_size(Reach reach) { return reach.left + reach.right + 1; }

  const LocalBackward<S, O>& params_;
  const LocalUnits& units_;
  bool table_;
  std::vector<int64_t> border_start_, table_start_;  ///< by sequence
  AlignedBuffer<T> borders_;
  AlignedBuffer<double> tables_;
};

}  // namespace longspan::kernels
