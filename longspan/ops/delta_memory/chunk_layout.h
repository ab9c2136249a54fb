// Rows of a batch or a pack laid out in chunks, for the composed form: no border and no position is read on the host,
// and the number of calls does not depend on sizes.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/SymInt.h>

#include "longspan/ops/common/optional.h"
#include "longspan/ops/delta_memory/check.h"

namespace longspan::ops::delta {

/// Every stream begins a chunk, in which rows that it carries may come first, and has as its last chunk the one under
/// way behind its rows, which may be empty. The streams' chunks stand one after the other; what is left of the room
/// that must do for any borders and positions stands behind them and is empty.
class ChunkLayout {
 public:
  /// `position`: [streams] tokens consumed, or none: 0.
  ChunkLayout(const Inputs& x, const Shape<c10::SymInt>& s, const Options& o, const OptionalTensor& position);

  const c10::SymInt& chunks() const { return chunks_; }
  /// [B, H, N, W] -> [H, chunks, C, W], zeros in places without a row.
  at::Tensor spread(const at::Tensor& x) const;
  /// The inverse of spread().
  at::Tensor collect(const at::Tensor& x) const;

  /// [streams]: the number of rows that come before the call's in a stream's first chunk, and that stand in its last.
  const at::Tensor& carried() const { return carried_; }
  const at::Tensor& open_rows() const { return open_rows_; }
  /// [streams]: the numbers of the first and the last chunk of each stream.
  const at::Tensor& first() const { return first_; }
  const at::Tensor& last() const { return last_; }
  /// [streams]: rows of the call.
  const at::Tensor& lengths() const { return lengths_; }
  /// [chunks] whether a chunk is the first of its stream.
  const at::Tensor& begins() const { return begins_; }
  /// Of values of streams, [streams, H, C, W], in which rows from `count` [streams] on are not read: zeros there.
  static at::Tensor without_rows_from(const at::Tensor& count, const at::Tensor& x);

 private:
  c10::SymInt batch_, heads_, rows_, all_rows_, chunks_;
  at::Tensor source_;  // [chunks * C] the row of each place; all_rows_ for none
  at::Tensor place_;   // [all_rows_] the place of each row
  at::Tensor lengths_, carried_, open_rows_, first_, last_, begins_;
};

}  // namespace longspan::ops::delta
