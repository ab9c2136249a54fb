// From the maps of chunks to the states before them, for the composed form.
#pragma once

#include <ATen/core/Tensor.h>

namespace longspan::ops::delta {

/// S -> factor S + term, for each chunk.
struct ChunkMaps {
  at::Tensor factor;  ///< [H, chunks, R, R], or for diagonal ones [H, chunks, R or 1, 1]
  at::Tensor term;    ///< [H, chunks, R, D]
  bool diagonal;

  at::Tensor multiply(const at::Tensor& a, const at::Tensor& b) const;
};

/// The result of each chunk's map applied to the one before, [H, chunks, R, D]: what stands before each chunk. At
/// chunks that begin a stream (`begins` [chunks]) the maps before have no influence, whatever their numbers are; what
/// is returned there is nothing worth, and their `term` must be what the map gives of the stream's first state.
///
/// A scan over pairs, pairs of pairs and so on, so that work and memory are linear. It has as many levels as the
/// longest call may need and not as this one does: the number of calls is fixed, and a graph serves every length.
at::Tensor states_before(const ChunkMaps& maps, const at::Tensor& begins);

}  // namespace longspan::ops::delta
