// The graph that a pattern is, whatever its pairs will weigh (specification B.10).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "longspan/base/parallel.h"
#include "longspan/patterns/pattern.h"

namespace longspan::spectra {

class Graph;
struct GraphScratch;

/// Does a token count as a neighbour of itself: as the pattern has it, always, or never.
enum class SelfLoops { pattern, on, off };

/// W = max(M, M^T) for the pairs M of a pattern: an undirected graph, whose vertices are the tokens. Every algorithm
/// here sees a graph through apply() alone. Immutable; costs a pointer to copy.
///
/// The product takes O(N + single pairs + blocks), for windows, global tokens and blocks whatever their width. Memory
/// beside the pattern: 37 bytes a token, and 8 bytes for each single pair (4 for a causal pattern, whose transpose it
/// uses).
class Topology {
 public:
  /// `memory_limit`: bytes that it may take at most, 0: the memory of the machine. InputError with the bytes needed for
  /// a pattern that would take more.
  explicit Topology(const patterns::Pattern& pattern, SelfLoops loops = SelfLoops::pattern,
                    const Parallel& parallel = SerialParallel(), int64_t memory_limit = 0);

  /// N.
  int64_t size() const;
  /// Row sums of W, [N]: numbers of neighbours, a loop counting as one. Exact.
  const std::vector<double>& degrees() const;
  double least_degree() const;
  double largest_degree() const;
  double mean_degree() const;
  bool regular() const { return least_degree() == largest_degree(); }
  /// Connected components; a vertex without neighbours is one.
  int64_t components() const;
  /// Vertices without a neighbour, a loop being one.
  int64_t isolated() const;

  /// What apply() needs to work in: one for each thread that calls it.
  class Scratch {
   public:
    Scratch();
    ~Scratch();
    Scratch(Scratch&&) noexcept;
    Scratch& operator=(Scratch&&) noexcept;

   private:
    friend class Topology;
    std::unique_ptr<GraphScratch> scratch_;
  };
  /// y = W x, both [N], not overlapping. The bits do not depend on the number of threads.
  void apply(const double* x, double* y, Scratch& scratch, const Parallel& parallel = SerialParallel()) const;

  int64_t bytes() const;

 private:
  struct Shared;
  std::shared_ptr<const Shared> shared_;
};

}  // namespace longspan::spectra
