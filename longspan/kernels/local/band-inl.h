// The band of a unit, as the vector code sees it: position scores by distance, which blocks need masks, key ranges.
//
// Per-target header: include it between the per-target guards of a file that uses <hwy/foreach_target.h>.
#if defined(LONGSPAN_KERNELS_LOCAL_BAND_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LONGSPAN_KERNELS_LOCAL_BAND_INL_H_
#undef LONGSPAN_KERNELS_LOCAL_BAND_INL_H_
#else
#define LONGSPAN_KERNELS_LOCAL_BAND_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <limits>

#include "longspan/base/check.h"
#include "longspan/kernels/local/units.h"
#include "longspan/simd/math-inl.h"
#include "longspan/simd/panel-inl.h"
#include "longspan/simd/pending_rows.h"

HWY_BEFORE_NAMESPACE();
namespace longspan::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using simd::HWY_NAMESPACE::kPanelWidth;
using simd::HWY_NAMESPACE::TileTag;
static_assert(kLocalTile == simd::HWY_NAMESPACE::kTile);

/// Position scores of one query head times log2(e), by distance u = i - j, -infinity outside the band: the 16 lanes of
/// a tile at i0 read those of key j from one unaligned vector row at `at(i0 - j)`.
template <class T>
class DistanceScores {
 public:
  /// A key block may begin kLocalTile - 1 positions before the band of a tile and end as far behind it.
  static constexpr int64_t kMargin = 2 * kLocalTile;
  static int64_t size(Reach reach) { return reach.left + reach.right + 1 + 2 * kMargin; }

  template <class S>
  DistanceScores(const LocalParams<S>& params, int64_t head, Reach reach, T* memory)
      : zero_(memory + kMargin + reach.right) {
    LONGSPAN_DCHECK(!params.table || params.table_centre >= reach.left, "table_centre ", params.table_centre,
                    ", reach_left ", reach.left);
    std::fill(memory, memory + size(reach), -std::numeric_limits<T>::infinity());
    const T* table = params.table ? params.table + head * params.table_head_stride + params.table_centre : nullptr;
    for (int64_t u = -reach.right; u <= reach.left; ++u)
      zero_[u] = table ? static_cast<T>(table[-u] * simd::HWY_NAMESPACE::kLog2E) : T(0);
  }
  const T* at(int64_t u) const { return zero_ + u; }

 private:
  T* zero_;
};

/// The tile of query positions [start, start + kLocalTile), of which lanes [live, live_end) are queries of this unit,
/// and the keys that they see.
struct Tile {
  Reach reach;
  int64_t keys;  ///< of the sequence
  int64_t start, live, live_end;

  /// First key that lane `lane` sees, and the one behind the last that it sees.
  int64_t key_begin(int64_t lane) const { return std::max<int64_t>(start + lane - reach.left, 0); }
  int64_t key_end(int64_t lane) const { return std::min(start + lane + reach.right + 1, keys); }
  int64_t first_key() const { return key_begin(live); }
  int64_t last_key() const { return key_end(live_end - 1); }
  /// First block of keys, at a multiple of kLocalTile.
  int64_t first_block() const { return first_key() / kLocalTile * kLocalTile; }
  /// Lanes that see key j: [lane_begin, lane_end), perhaps empty.
  int64_t lane_begin(int64_t j) const { return std::max(live, j - reach.right - start); }
  int64_t lane_end(int64_t j) const { return std::min(live_end, j + reach.left + 1 - start); }
  /// Whether some of lanes [lane, lane + count) see some of keys [j, j + count), ends of unit and sequence aside.
  bool sees(int64_t j, int64_t lane, int64_t count) const {
    return j + count - 1 >= start + lane - reach.left && j <= start + lane + count - 1 + reach.right;
  }
  /// Whether the window of every lane lies inside the sequence.
  bool inside() const { return start >= reach.left && start + kLocalTile + reach.right <= keys; }
  /// Whether every lane of the tile sees every key of the block at `block`.
  bool whole(int64_t block) const {
    return live == 0 && live_end == kLocalTile && start + kLocalTile - 1 - block <= reach.left &&
           block + kLocalTile - 1 - start <= reach.right && block + kLocalTile <= keys;
  }
};

/// The tile of a unit that begins at `start`, a multiple of kLocalTile.
inline Tile make_tile(Reach reach, int64_t keys, int64_t first_query, int64_t last_query, int64_t start) {
  return {reach, keys, start, std::max<int64_t>(first_query - start, 0), std::min(last_query - start, kLocalTile)};
}

/// Where the keys from `base` (a multiple of kLocalTile) on stand in a panel of `blocks` blocks of kLocalTile rows,
/// which are reused in turn: with `around_band` the panel holds the keys near the tile under way and stays in the cache
/// however long the unit is, with `whole` it holds all keys of [base, end), adjacent.
struct Ring {
  int64_t base, blocks;

  static Ring around_band(Reach reach, int64_t base) {
    return {base, (simd::HWY_NAMESPACE::round_up(reach.left, kLocalTile) +
                   simd::HWY_NAMESPACE::round_up(reach.right, kLocalTile)) /
                          kLocalTile +
                      1};
  }
  static Ring whole(int64_t base, int64_t end) {
    return {base, simd::HWY_NAMESPACE::round_up(end - base, kLocalTile) / kLocalTile};
  }
  int64_t chunk_stride() const { return blocks * kLocalTile * kPanelWidth; }
  int64_t row(int64_t key) const { return (key - base) / kLocalTile % blocks * kLocalTile + (key - base) % kLocalTile; }
};

/// Keys or values of a unit, packed into a ring as the tiles come to them.
template <class S>
class PackedRows {
  using T = Computed<S>;

 public:
  /// `memory` holds chunk_count(width) * ring.chunk_stride() elements; keys [ring.base, end) will be asked for.
  PackedRows(RowsView<const S> source, int64_t width, int64_t end, Ring ring, T* memory)
      : source_(source), width_(width), end_(end), packed_(ring.base), ring_(ring), memory_(memory) {}

  const T* row(int64_t key) const { return memory_ + ring_.row(key) * kPanelWidth; }
  /// The keys before this one have been packed.
  int64_t packed() const { return packed_; }
  /// Whether all of them are finite.
  bool finite() const { return finite_; }

  /// Packs the blocks up to and with the one of key last - 1; rows behind the end are zero.
  HWY_INLINE void pack_until(int64_t last) {
    for (; packed_ < last; packed_ += kLocalTile) {
      const int64_t count = std::min(kLocalTile, end_ - packed_);
      finite_ &= simd::HWY_NAMESPACE::pack_rows(source_.data + packed_ * source_.row_stride, source_.row_stride, width_,
                                                count, memory_, ring_.chunk_stride(), ring_.row(packed_));
      simd::HWY_NAMESPACE::zero_rows(width_, kLocalTile - count, memory_, ring_.chunk_stride(),
                                     ring_.row(packed_) + count);
    }
  }
  /// Prefetches what the next pack_until will read, one block ahead.
  HWY_INLINE void prefetch() const {
    const int64_t count = std::min(kLocalTile, end_ - packed_);
    simd::HWY_NAMESPACE::prefetch_rows(source_.data + packed_ * source_.row_stride, source_.row_stride, width_, count);
  }
  /// Adds the same rows to `pending`.
  HWY_INLINE void prefetch(simd::PendingRows& pending) const {
    pending.add(source_.data + packed_ * source_.row_stride, source_.row_stride, width_,
                std::min(kLocalTile, end_ - packed_));
  }

 private:
  RowsView<const S> source_;
  int64_t width_, end_, packed_;
  Ring ring_;
  T* memory_;
  bool finite_ = true;
};

}  // namespace longspan::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
