#include "longspan/ops/delta_memory/chunk_layout.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/cumsum.h>
#include <ATen/ops/full.h>
#include <ATen/ops/searchsorted.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

namespace longspan::ops::delta {
namespace {

/// The interval of each number: i with borders[i] <= number < borders[i + 1].
at::Tensor interval_of(const at::Tensor& borders, const at::Tensor& number) {
  return at::searchsorted(borders.slice(0, 1), number, /*out_int32=*/false, /*right=*/true);
}

}  // namespace

ChunkLayout::ChunkLayout(const Inputs& x, const Shape<c10::SymInt>& s, const Options& o, const OptionalTensor& position)
    : batch_(s.batch), heads_(s.heads), rows_(s.rows), all_rows_(s.batch * s.rows) {
  const auto index = x.q.options().dtype(at::kLong);
  const int64_t most_carried = position ? kDeltaChunk - 1 : 0;
  at::Tensor starts;  // [streams + 1]
  if (o.cu_seqlens) {
    starts = o.cu_seqlens->to(x.q.device(), at::kLong, /*non_blocking=*/true).contiguous();
    chunks_ = (s.rows + s.streams * most_carried) / kDeltaChunk + s.streams;
  } else {
    starts = at::arange(s.streams + 1, index) * at::Scalar(s.rows);
    chunks_ = s.streams * ((s.rows + most_carried) / kDeltaChunk + 1);
  }
  lengths_ = starts.slice(0, 1) - starts.slice(0, 0, -1);
  carried_ = position ? position->remainder(kDeltaChunk) : at::zeros_symint({s.streams}, index);
  open_rows_ = (carried_ + lengths_).remainder(kDeltaChunk);
  const at::Tensor needed = (carried_ + lengths_).floor_divide(kDeltaChunk) + 1;
  const at::Tensor borders = at::constant_pad_nd(at::cumsum(needed, 0), {1, 0});
  first_ = borders.slice(0, 0, -1);
  last_ = borders.slice(0, 1) - 1;

  // Places: those behind all streams have the number of streams for theirs, and an empty one.
  const at::Tensor number = at::arange(chunks_, index), stream = interval_of(borders, number);
  const at::Tensor own_first = borders.index_select(0, stream);
  begins_ = number == own_first;
  const auto of_stream = [&](const at::Tensor& t) { return at::constant_pad_nd(t, {0, 1}).index_select(0, stream); };
  const at::Tensor before = (number - own_first) * kDeltaChunk - of_stream(carried_);
  const at::Tensor rank = before.unsqueeze(1) + at::arange(kDeltaChunk, index);
  const at::Tensor there = (rank >= 0).logical_and(rank < of_stream(lengths_).unsqueeze(1));
  const at::Tensor row = starts.index_select(0, stream).unsqueeze(1) + rank;
  source_ = at::where(there, row, at::full_symint({1}, at::Scalar(all_rows_), index)).view(-1);

  const at::Tensor rows = at::arange(all_rows_, index), own = interval_of(starts, rows);
  const at::Tensor first_place = borders * kDeltaChunk + at::constant_pad_nd(carried_, {0, 1}) - starts;
  place_ = first_place.index_select(0, own) + rows;
}

at::Tensor ChunkLayout::spread(const at::Tensor& x) const {
  const c10::SymInt width = x.sym_size(3);
  const at::Tensor flat = x.transpose(0, 1).reshape_symint({heads_, all_rows_, width});
  return at::constant_pad_nd(flat, {0, 0, 0, 1})
      .index_select(1, source_)
      .view_symint({heads_, chunks_, kDeltaChunk, width});
}

at::Tensor ChunkLayout::collect(const at::Tensor& x) const {
  const at::Tensor rows = x.flatten(1, 2).index_select(1, place_);
  // A copy, so that the strides are those of a new tensor also where a dimension has one element.
  return rows.view_symint({heads_, batch_, rows_, x.sym_size(3)}).transpose(0, 1).clone(at::MemoryFormat::Contiguous);
}

at::Tensor ChunkLayout::without_rows_from(const at::Tensor& count, const at::Tensor& x) {
  const at::Tensor place = at::arange(kDeltaChunk, count.options());
  return x.masked_fill((place >= count.unsqueeze(1)).unsqueeze(1).unsqueeze(3), 0);
}

}  // namespace longspan::ops::delta
