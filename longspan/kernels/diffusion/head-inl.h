// One sequence of a call as its heads see it: rows in and out of panels, loops over tiles and rows.
//
// Per-target header: include it between the per-target guards of a file that uses <hwy/foreach_target.h>.
#if defined(LONGSPAN_KERNELS_DIFFUSION_HEAD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LONGSPAN_KERNELS_DIFFUSION_HEAD_INL_H_
#undef LONGSPAN_KERNELS_DIFFUSION_HEAD_INL_H_
#else
#define LONGSPAN_KERNELS_DIFFUSION_HEAD_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <vector>

#include "longspan/kernels/diffusion/call.h"
#include "longspan/kernels/diffusion/rest-inl.h"
#include "longspan/kernels/diffusion/tiles-inl.h"
#include "longspan/simd/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace longspan::kernels::diffusion::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace panel = simd::HWY_NAMESPACE;

/// Rows, and tiles, of a unit of a loop.
inline constexpr int64_t kUnitRows = 256;
inline constexpr int64_t kUnitTiles = kUnitRows / kLanes;

template <class T>
HWY_INLINE void copy_row(const Panel<T>& from, int64_t source, const Panel<T>& to, int64_t row) {
  for (int64_t chunk = 0; chunk < panel::chunk_count(from.width()); ++chunk)
    std::copy_n(from.row(source) + chunk * from.stride(), kPanelColumns, to.row(row) + chunk * to.stride());
}

/// One query head of one sequence.
template <class S>
struct Head {
  using T = Computed<S>;

  const DiffusionParams<S>& params;
  const PlannedPattern& planned;
  const TileLayout& layout;
  const Loop& loop;
  int64_t sequence, head, key_head;
  const char* there = nullptr;  ///< by row of a panel whether the token is there; nullptr: all are

  Head(const DiffusionParams<S>& p, const Plan<S>& plan, const Loop& work, int64_t s, int64_t group)
      : params(p),
        planned(plan.pattern(s)),
        layout(*planned.layout),
        loop(work),
        sequence(s),
        head(group * plan.group()),
        key_head(group) {}

  /// Fills `there` where the call says which tokens there are; `memory` outlives the head.
  void find_tokens(std::vector<char>& memory) {
    if (params.valid == nullptr) return;
    const bool* valid =
        params.valid + (params.rows.starts != nullptr ? params.rows.begin(sequence) : sequence * params.rows.rows);
    memory.assign(static_cast<std::size_t>(layout.rows()), 0);
    for (int64_t row = 0; row < layout.rows(); ++row)
      if (layout.token(row) >= 0) memory[static_cast<std::size_t>(row)] = valid[layout.token(row)];
    there = memory.data();
  }
  /// Whether tokens that are not there have left the pattern.
  bool removed() const { return there != nullptr && params.invalid_score == -std::numeric_limits<double>::infinity(); }
  bool is_there(int64_t row) const { return there == nullptr || there[row] != 0; }
  Validity<T> validity() const { return {there, static_cast<T>(params.invalid_score * panel::kLog2E)}; }
  T score_scale() const { return static_cast<T>(params.scale * panel::kLog2E); }
  T coefficient(int64_t index) const { return params.coefficients[head * params.coefficient_head_stride + index]; }
  T start() const { return coefficient(0); }
  T carry(int64_t hop) const { return coefficient(2 * hop + 1); }
  T source(int64_t hop) const { return coefficient(2 * hop + 2); }
  int64_t position(int64_t token) const { return params.positions != nullptr ? params.positions[token] : token; }
  HeadDropout dropout(const Dropout& of, uint64_t seed) const {
    HeadDropout result{{of.probability, seed}, sequence, head};
    if (params.dropout_origin == nullptr) return result;
    result.row = params.dropout_origin[2 * sequence];
    result.start = params.dropout_origin[2 * sequence + 1];
    return result;
  }

  /// Calls use(row, worker) for the rows [first, last) of a panel.
  template <class Use>
  void for_rows(int64_t first, int64_t last, const Use& use) const {
    const int64_t units = first < last ? (last - first + kUnitRows - 1) / kUnitRows : 0;
    loop.run(units, [&](int64_t unit, int worker) {
      const int64_t begin = first + unit * kUnitRows, end = std::min(begin + kUnitRows, last);
      for (int64_t row = begin; row < end; ++row) use(row, worker);
    });
  }
  /// Sum of term(row) over rows [first, last) in their order, in parts that nothing but the rows decides.
  template <class Term>
  double sum_rows(int64_t first, int64_t last, const Term& term) const {
    const int64_t units = first < last ? (last - first + kUnitRows - 1) / kUnitRows : 0;
    std::vector<double> parts(static_cast<std::size_t>(units), 0.0);
    for_rows(first, last, [&](int64_t row, int) HWY_ATTR {
      parts[static_cast<std::size_t>((row - first) / kUnitRows)] += static_cast<double>(term(row));
    });
    double sum = 0;
    for (const double part : parts) sum += part;
    return sum;
  }
  /// Calls use(tile, worker) for the tiles of a strip.
  template <class Use>
  void for_tiles(Strip strip, const Use& use) const {
    const int64_t middle = std::clamp(layout.token_tiles(), strip.first, strip.last);
    const int64_t dense = strip.last - middle;  // they are long: a unit each, and first
    loop.run(dense + (middle - strip.first + kUnitTiles - 1) / kUnitTiles, [&](int64_t unit, int worker) {
      if (unit < dense) return use(middle + unit, worker);
      const int64_t begin = strip.first + (unit - dense) * kUnitTiles, end = std::min(begin + kUnitTiles, middle);
      for (int64_t tile = begin; tile < end; ++tile) use(tile, worker);
    });
  }
  /// Queries [first, last) of the token tiles of a strip.
  struct Queries {
    int64_t first, last;
  };
  Queries queries(Strip strip) const {
    const int64_t middle = std::clamp(layout.token_tiles(), strip.first, strip.last);
    if (strip.first == middle) return {0, 0};
    return {std::max(layout.row(strip.first), layout.first_row()),
            std::min(layout.row(middle - 1) + kLanes, layout.tokens())};
  }

  /// The copies of dense columns and dense rows behind the tokens of a panel.
  HWY_INLINE void copy_columns(const Panel<T>& x) const {
    for (int64_t a = 0; a < layout.columns(); ++a) copy_row(x, layout.column_token(a), x, layout.column_row(a));
  }
  HWY_INLINE void copy_dense_rows(const Panel<T>& x) const {
    for (int64_t a = 0; a < layout.dense_rows(); ++a) copy_row(x, layout.dense_token(a), x, layout.dense_row(a));
  }
  HWY_INLINE void zero(const Panel<T>& x, int64_t first, int64_t last) const {
    panel::zero_rows(x.width(), last - first, x.row(0), x.stride(), first);
  }
  /// Zeros in the rows of a panel that no token stands in, and in those of tokens before `first`.
  void zero_gaps(const Panel<T>& x, int64_t first) const {
    zero(x, 0, first);
    zero(x, layout.tokens(), layout.column_row());
    zero(x, layout.column_row(layout.columns()), layout.dense_row());
    zero(x, layout.dense_row(layout.dense_rows()), layout.rows());
  }

  /// A panel of the rows of `source`, the first of which is that of token `first`, in the order of the layout.
  template <class From>
  void pack(const RowsView<From>& source, int64_t width, int64_t first, Panel<T>& x) const {
    x.reshape(layout.rows(), width);
    zero_gaps(x, first);
    for_rows(first, layout.tokens(), [&](int64_t row, int) HWY_ATTR {
      if (removed() && !there[row])
        zero(x, row, row + 1);
      else
        x.see(panel::pack_rows(source.data + (layout.token(row) - first) * source.row_stride, source.row_stride, width,
                               1, x.row(0), x.stride(), row));
    });
    copy_columns(x);
    copy_dense_rows(x);
  }

  /// to = a x (row by row of all rows of the panels).
  void scale_rows(const Panel<T>& x, T a, Panel<T>& to) const {
    const panel::TileTag<T> d;
    constexpr int64_t N = panel::Blocking<T>::lanes;
    to.reshape(layout.rows(), x.width());
    for_rows(0, layout.rows(), [&](int64_t row, int) HWY_ATTR {
      auto check = hn::Zero(d);
      for (int64_t chunk = 0; chunk < panel::chunk_count(x.width()); ++chunk)
        for (int64_t c = 0; c < panel::chunk_width(x.width(), chunk); c += N) {
          const auto y = hn::Mul(hn::Load(d, x.row(row) + chunk * x.stride() + c), hn::Set(d, a));
          check = hn::MulAdd(y, hn::Zero(d), check);
          hn::Store(y, d, to.row(row) + chunk * to.stride() + c);
        }
      to.see(hn::AllTrue(d, hn::Eq(check, hn::Zero(d))));
    });
  }

  /// Rows of the tensors as tokens count them.
  template <class U>
  RowsView<U> of_head(const RowsView<U>& view, int64_t number) const {
    return params.rows.at(view, sequence, number);
  }
  /// Elements before row 0 of the states after hop `hop` (0: Z_0) of this head in DiffusionForward::states.
  int64_t state_begin(int64_t hop) const {
    const int64_t rows = params.rows.starts != nullptr ? params.rows.starts[params.sequences] : params.rows.rows;
    const int64_t block = params.rows.starts != nullptr ? head : sequence * params.heads + head;
    return ((block * params.hops + hop) * rows + params.rows.begin(sequence)) * params.value_width;
  }
};

/// <a, b> of two rows; lanes are summed in the target's fixed order.
template <class T>
HWY_INLINE T dot_rows(const Panel<T>& a, const Panel<T>& b, int64_t row) {
  const panel::TileTag<T> d;
  constexpr int64_t N = panel::Blocking<T>::lanes;
  auto sum = hn::Zero(d);
  for (int64_t chunk = 0; chunk < panel::chunk_count(a.width()); ++chunk)
    for (int64_t c = 0; c < panel::chunk_width(a.width(), chunk); c += N)
      sum = hn::MulAdd(hn::Load(d, a.row(row) + chunk * a.stride() + c),
                       hn::Load(d, b.row(row) + chunk * b.stride() + c), sum);
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

template <class T>
HWY_INLINE bool is_finite_row(const Panel<T>& x, int64_t row) {
  const panel::TileTag<T> d;
  auto check = hn::Zero(d);
  for (int64_t chunk = 0; chunk < panel::chunk_count(x.width()); ++chunk)
    for (int64_t c = 0; c < panel::chunk_width(x.width(), chunk); c += panel::Blocking<T>::lanes)
      check = hn::MulAdd(hn::Load(d, x.row(row) + chunk * x.stride() + c), hn::Zero(d), check);
  return hn::AllTrue(d, hn::Eq(check, hn::Zero(d)));
}

}  // namespace longspan::kernels::diffusion::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
