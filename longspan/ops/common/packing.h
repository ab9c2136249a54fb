// Sequences of a batch or a pack as tensors on the operands' device, for the composed forms: no border is read on the
// host, and the number of calls does not depend on sizes.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/SymInt.h>

#include "longspan/ops/common/check.h"
#include "longspan/ops/common/optional.h"

namespace longspan::ops {

/// Whether reading borders waits for nothing: only then does a composed form check their values.
inline bool readable_on_host(const OptionalTensor& cu) { return cu && cu->is_cpu() && has_values(*cu); }

/// The rows of a call: B sequences of N rows, or the S sequences that borders cut out of N rows (then B = 1).
class RowSequences {
 public:
  /// `like`: a tensor on the device of the operands. `cu`: [S + 1], on the CPU or that device.
  RowSequences(const OptionalTensor& cu, const c10::SymInt& batch, const c10::SymInt& rows, const at::Tensor& like);

  bool packed() const { return starts_.defined(); }
  const c10::SymInt& rows() const { return rows_; }
  /// Number of sequences: B or S.
  const c10::SymInt& count() const { return count_; }
  /// [N], int64: 0 .. N - 1.
  const at::Tensor& index() const { return index_; }
  /// [S + 1], int64; only in a pack.
  const at::Tensor& starts() const { return starts_; }
  /// [N]: the sequence of each row; only in a pack.
  const at::Tensor& sequence() const { return sequence_; }

  /// Number of rows of each sequence, [count].
  at::Tensor lengths() const;
  /// Position of each row in its sequence, [1, 1, N, 1].
  at::Tensor rank() const;
  /// The number of each row's sequence, [B, 1, 1, 1] or [1, 1, N, 1].
  at::Tensor number() const;
  /// Values of sequences, [count, H, R], at the rows: [B, H, 1, R] or [1, H, N, R].
  at::Tensor at_rows(const at::Tensor& values) const;

  /// Sums of [B, H, N, R] over the rows of each sequence, [count, H, R].
  at::Tensor sum(const at::Tensor& x) const;
  /// Sums of [B, H, N, R] over the rows of the same sequence up to each row. What stands in another sequence, infinite
  /// or not a number, has no influence.
  at::Tensor scan(const at::Tensor& x) const;

 private:
  at::Tensor index_, starts_, sequence_;
  c10::SymInt rows_, count_;
};

/// Rows of a batch or a pack laid out in blocks of equal size in which only rows of one sequence stand, the first row
/// of a sequence at the beginning of a block; zeros fill up.
class BlockLayout {
 public:
  BlockLayout(const RowSequences& rows, const c10::SymInt& size);

  const c10::SymInt& blocks() const { return blocks_; }
  const c10::SymInt& size() const { return size_; }
  /// [B, H, N, W] -> [B, H, blocks, size, W]
  at::Tensor spread(const at::Tensor& x) const;
  /// The inverse of spread().
  at::Tensor collect(const at::Tensor& x) const;
  /// The places of rows of the same pack given by sequence and rank, [N']; only in a pack.
  at::Tensor places(const at::Tensor& sequence, const at::Tensor& rank) const;

  /// The position in its sequence of each block's first place, [blocks].
  at::Tensor origin() const;
  /// Number of rows of each block's sequence, [blocks]; 0 for an unused block.
  at::Tensor sequence_rows() const;
  /// The number of each block's sequence, [blocks]; only in a pack, where unused blocks at the end have the number S.
  const at::Tensor& sequence() const { return sequence_; }
  /// Whether a block is its sequence's first, [blocks]; only in a pack, like the next one.
  at::Tensor begins() const;
  /// Values of blocks, [.., blocks, R], of those that stand `distances` [T] before each, [.., blocks, T, R]; zeros
  /// where that leaves the sequence.
  at::Tensor earlier(const at::Tensor& values, const at::Tensor& distances) const;

 private:
  bool packed() const { return place_.defined(); }

  c10::SymInt rows_, size_, blocks_;
  at::Tensor index_;  // [blocks]
  // Of a pack.
  at::Tensor first_of_sequence_;  // [S + 1]: its first block
  at::Tensor lengths_;            // [S + 1]: its number of rows; 0 behind the last one
  at::Tensor place_;              // [N]: block * size + place in the block
  at::Tensor sequence_, first_;   // [blocks]: the block's sequence, and that one's first block
};

}  // namespace longspan::ops
