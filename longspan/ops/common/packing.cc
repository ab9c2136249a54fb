#include "longspan/ops/common/packing.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/cumsum.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/searchsorted.h>
#include <ATen/ops/zeros.h>

namespace longspan::ops {
namespace {

// Rows of a scan's block: so many that the scan of the blocks' sums costs little beside that of the rows.
constexpr int64_t kScanBlock = 256;
// That scan adds, 4 times, the sums of kRadix ranges of blocks. 64^4 blocks are 4 G rows, more than any pack has; fewer
// steps for a short one would make the number of calls depend on the length.
constexpr int64_t kRadix = 64;
constexpr int kSteps = 4;

at::Tensor numbers(const c10::SymInt& end, const at::Tensor& like) {
  return at::arange(end, like.options().dtype(at::kLong));
}

/// The interval of each number: i with borders[i] <= number < borders[i + 1]; empty intervals have none.
at::Tensor interval_of(const at::Tensor& borders, const at::Tensor& number) {
  return at::searchsorted(borders.slice(0, 1), number, /*out_int32=*/false, /*right=*/true);
}

}  // namespace

RowSequences::RowSequences(const OptionalTensor& cu, const c10::SymInt& batch, const c10::SymInt& rows,
                           const at::Tensor& like)
    : index_(numbers(rows, like)), rows_(rows), count_(batch) {
  if (!cu) return;
  starts_ = cu->to(like.device(), at::kLong, /*non_blocking=*/true).contiguous();
  count_ = starts_.sym_size(0) - 1;
  sequence_ = interval_of(starts_, index_);
}

at::Tensor RowSequences::lengths() const {
  if (packed()) return starts_.slice(0, 1) - starts_.slice(0, 0, -1);
  return at::full_symint({count_}, at::Scalar(rows_), index_.options());
}

at::Tensor RowSequences::rank() const {
  const at::Tensor rank = packed() ? index_ - starts_.index_select(0, sequence_) : index_;
  return rank.view_symint({1, 1, rows_, 1});
}

at::Tensor RowSequences::number() const {
  return packed() ? sequence_.view_symint({1, 1, rows_, 1}) : numbers(count_, index_).view_symint({count_, 1, 1, 1});
}

at::Tensor RowSequences::at_rows(const at::Tensor& values) const {
  if (!packed()) return values.unsqueeze(2);
  return values.index_select(0, sequence_).transpose(0, 1).unsqueeze(0);
}

at::Tensor RowSequences::sum(const at::Tensor& x) const {
  if (!packed()) return x.sum(2);
  const at::Tensor zeros = at::zeros_symint({count_, x.sym_size(1), x.sym_size(3)}, x.options());
  return zeros.index_add(0, sequence_, x.squeeze(0).transpose(0, 1));
}

at::Tensor RowSequences::scan(const at::Tensor& x) const {
  if (!packed()) return at::cumsum(x, 2);
  // A difference of prefix sums over the whole pack would lose what a large neighbour swallows.
  const BlockLayout layout(*this, kScanBlock);
  const at::Tensor inside = at::cumsum(layout.spread(x), 3);
  at::Tensor sums = inside.select(3, kScanBlock - 1);  // over ranges of 1, 64, 64^2, ... blocks up to each
  at::Tensor distances = numbers(kRadix, index_);
  for (int step = 0; step < kSteps; ++step) {
    sums = layout.earlier(sums, distances).sum(-2);
    distances = distances * kRadix;
  }
  const at::Tensor before = layout.earlier(sums, at::ones({1}, index_.options()));
  return layout.collect(inside + before);
}

BlockLayout::BlockLayout(const RowSequences& rows, const c10::SymInt& size) : rows_(rows.rows()), size_(size) {
  if (!rows.packed()) {
    blocks_ = (rows_ + size_ - 1) / size_;
    index_ = numbers(blocks_, rows.index());
    return;
  }
  // Every sequence wastes less than a block: the sum of ceil(length / size) is at most this.
  blocks_ = (rows_ + rows.count() * (size_ - 1)) / size_;
  index_ = numbers(blocks_, rows.index());
  lengths_ = at::constant_pad_nd(rows.lengths(), {0, 1});
  const at::Tensor needed = (rows.lengths() + at::Scalar(size_ - 1)).floor_divide(at::Scalar(size_));
  first_of_sequence_ = at::constant_pad_nd(at::cumsum(needed, 0), {1, 0});
  place_ = places(rows.sequence(), rows.rank().view(-1));
  sequence_ = interval_of(first_of_sequence_, index_);
  first_ = first_of_sequence_.index_select(0, sequence_);
}

at::Tensor BlockLayout::places(const at::Tensor& sequence, const at::Tensor& rank) const {
  return first_of_sequence_.index_select(0, sequence) * at::Scalar(size_) + rank;
}

at::Tensor BlockLayout::spread(const at::Tensor& x) const {
  const c10::SymInt batch = x.sym_size(0), heads = x.sym_size(1), width = x.sym_size(3), all = blocks_ * size_;
  const at::Tensor filled = packed()
                                ? at::zeros_symint({batch, heads, all, width}, x.options()).index_copy(2, place_, x)
                                : at::constant_pad_nd_symint(x, std::vector<c10::SymInt>{0, 0, 0, all - rows_});
  return filled.view_symint({batch, heads, blocks_, size_, width});
}

at::Tensor BlockLayout::collect(const at::Tensor& x) const {
  const at::Tensor flat = x.flatten(2, 3);
  return packed() ? flat.index_select(2, place_) : flat.narrow_symint(2, 0, rows_);
}

at::Tensor BlockLayout::origin() const { return (packed() ? index_ - first_ : index_) * at::Scalar(size_); }

at::Tensor BlockLayout::sequence_rows() const {
  if (packed()) return lengths_.index_select(0, sequence_);
  return at::full_symint({blocks_}, at::Scalar(rows_), index_.options());
}

at::Tensor BlockLayout::begins() const { return index_ == first_; }

at::Tensor BlockLayout::earlier(const at::Tensor& values, const at::Tensor& distances) const {
  const at::Tensor source = index_.unsqueeze(1) - distances;  // [blocks, T]
  return values.index_select(-2, source.clamp_min(0).view(-1))
      .unflatten_symint(-2, {blocks_, distances.sym_size(0)})
      .masked_fill((source < first_.unsqueeze(1)).unsqueeze(2), 0);
}

}  // namespace longspan::ops
