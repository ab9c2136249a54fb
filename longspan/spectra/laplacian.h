// The normalised Laplacian of a graph, L = I - D^(-1/2) W D^(-1/2) (specification B.10).
#pragma once

#include <cstdint>
#include <vector>

#include "longspan/base/parallel.h"
#include "longspan/spectra/topology.h"

namespace longspan::spectra {

/// N = I - L = D^(-1/2) W D^(-1/2), symmetric, eigenvalues in [-1, 1]. It has the eigenvalue 1 once for each component,
/// with the vector sqrt(degree) on it. A vertex without neighbours is a component of its own (L = 0 there, as Chung
/// defines it). One thread at a time.
class NormalisedAdjacency {
 public:
  /// `parallel` outlives it.
  NormalisedAdjacency(Topology topology, const Parallel& parallel);

  int64_t size() const { return topology_.size(); }
  const Topology& topology() const { return topology_; }
  /// y = N x, both [size()], not overlapping.
  void apply(const double* x, double* y);
  /// sqrt(degree), 1 for a vertex without neighbours, scaled to norm 1: the eigenvector of 1 of a connected graph.
  std::vector<double> stationary_direction() const;

 private:
  Topology topology_;
  const Parallel& parallel_;
  Topology::Scratch scratch_;
  std::vector<double> scale_;  ///< degree^(-1/2), 0 for a vertex without neighbours
  std::vector<double> scaled_;
};

}  // namespace longspan::spectra
