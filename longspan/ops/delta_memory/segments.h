// What the forward pass of the kernel keeps for the backward pass: the state before each kDeltaSegment chunks.
#pragma once

#include <vector>

#include "longspan/ops/delta_memory/check.h"

namespace longspan::ops::delta {

/// Room for them, [segments, R, D]. How many there are depends on borders and positions, whose values a traced graph
/// does not have: this is the most that there can be, one a stream and one for every whole segment of rows.
/// `extends`: up to a chunk's rows but one stand before the first.
template <class Int>
std::vector<Int> segments_shape(const Shape<Int>& s, const Options& o, bool extends) {
  const int64_t rows = kDeltaChunk * kernels::kDeltaSegment, carried = extends ? kDeltaChunk - 1 : 0;
  const Int count = o.cu_seqlens ? Int(s.streams + (s.rows + s.streams * carried) / rows)
                                 : Int(s.streams * ((s.rows + carried) / rows + 1));
  return {s.heads * count, s.slots, s.width};
}

template <class Int>
void check_segments(const char* op, const OptionalTensor& segments, const Inputs& x, const Shape<Int>& s,
                    const Options& o, bool extends) {
  if (!segments) return;
  const std::vector<Int> shape = segments_shape(s, o, extends);
  check_sizes<Int>(op, "segments", *segments, {{"", shape[0]}, {"R", shape[1]}, {"D", shape[2]}});
  check_dtype(op, "segments", *segments, sum_dtype(x.q), x.q);
}

}  // namespace longspan::ops::delta
