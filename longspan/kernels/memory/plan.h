// How the rows of all sequences are cut into chunks, work items and tasks.
//
// Chunks and items are cut at absolute positions and by the shapes alone: sums over them have one order. Tasks, which
// only group items for the threads, may follow the number of workers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "longspan/base/views.h"
#include "longspan/kernels/memory/memory.h"

namespace longspan::kernels::memory {

/// Rows of a query tile: as many as keep most of a tile's intermediate rows in the first-level cache.
inline constexpr int64_t kTile = 32;
/// Padding of scratch rows in elements, a multiple of every vector length.
inline constexpr int64_t kPad = 16;
/// Chunks of one item: at most 8 * 256 rows share one partial sum of the basis gradient.
inline constexpr int64_t kItemChunks = 8;

inline int64_t padded(int64_t size) { return (size + kPad - 1) / kPad * kPad; }

/// A cut of one sequence, chunks [chunk_begin, chunk_end), or several whole consecutive short sequences.
struct Item {
  int64_t sequence_begin = 0, sequence_end = 0;
  int64_t chunk_begin = 0, chunk_end = -1;  ///< -1: to the end of each sequence
};

class Plan {
 public:
  /// `count` [sequences]: positions before each sequence's first row; nullptr for zeros. `workers` = 1: no sequence is
  /// split.
  Plan(int64_t sequences, const Segments& segments, const int64_t* count, int64_t heads, int workers);

  int64_t rows(int64_t s) const { return segments_.size(s); }
  /// Position of sequence s's first row.
  int64_t start(int64_t s) const { return count_ ? count_[s] : 0; }
  int64_t chunks(int64_t s) const { return chunk_base_[s + 1] - chunk_base_[s]; }
  int64_t total_chunks() const { return chunk_base_.back(); }
  int64_t total_rows() const { return total_rows_; }
  /// Index of a chunk of sequence s among all chunks.
  int64_t chunk(int64_t s, int64_t k) const { return chunk_base_[s] + k; }
  /// First row of chunk k of sequence s; rows(s) for k = chunks(s).
  int64_t chunk_row(int64_t s, int64_t k) const {
    return k == 0 ? 0 : std::min(rows(s), k * kMemoryChunk - start(s) % kMemoryChunk);
  }
  /// True when the chunk is complete after the call: its sums are then part of `closed`.
  bool complete(int64_t s, int64_t k) const { return k + 1 < chunks(s) || (start(s) + rows(s)) % kMemoryChunk == 0; }
  /// Number of the chunk's rows before the last window border behind one of its rows; 0 if there is none.
  int64_t rows_before_border(int64_t s, int64_t k, int64_t window) const {
    const int64_t begin = start(s) + chunk_row(s, k), end = start(s) + chunk_row(s, k + 1);
    return window == 0 ? 0 : std::max<int64_t>(end / window * window - begin, 0);
  }
  int64_t chunk_end(const Item& item, int64_t s) const { return item.chunk_end < 0 ? chunks(s) : item.chunk_end; }

  const std::vector<Item>& items() const { return items_; }
  /// Task t runs items [task_begin(t), task_begin(t + 1)).
  int64_t tasks() const { return static_cast<int64_t>(task_begin_.size()) - 1; }
  int64_t task_begin(int64_t t) const { return task_begin_[t]; }
  /// True when a task holds a part of a sequence, so that its chunks' prefix and suffix come from elsewhere.
  bool split() const { return split_; }

 private:
  Segments segments_;
  const int64_t* count_;
  int64_t total_rows_ = 0;
  std::vector<int64_t> chunk_base_;
  std::vector<Item> items_;
  std::vector<int64_t> task_begin_;
  bool split_ = false;
};

}  // namespace longspan::kernels::memory
