// How fast a random walk on a graph forgets where it began: the bound by beta, and walks that are measured.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "longspan/base/parallel.h"
#include "longspan/base/progress.h"
#include "longspan/spectra/extremes.h"
#include "longspan/spectra/topology.h"

namespace longspan::spectra {

/// The stationary law of the walk that goes to a neighbour drawn evenly: degree / sum of degrees, [N]; even on a
/// regular graph. Zeros where no vertex has a neighbour.
std::vector<double> stationary_law(const Topology& topology);

/// Bound of the total variation distance to the stationary law pi after t steps, from any vertex of a connected graph:
/// beta^t / (2 sqrt(pi_min)). For a regular graph pi_min = 1 / N, and twice it is the bound sqrt(N) beta^t on
/// ||A^t v - u||_1 of specification B.10.
double mixing_bound(double beta, double least_share, int64_t steps);
/// The first t whose bound is at most `delta` > 0; nothing for beta = 1.
std::optional<int64_t> mixing_time_bound(double beta, double least_share, double delta);

/// A walk from one vertex.
struct Walk {
  int64_t start = 0;
  std::vector<double> distance = {};        ///< total variation distance after 0, 1, .. steps
  std::optional<int64_t> mixing_time = {};  ///< the first step with at most delta; nothing if it did not get there
};

struct Mixing {
  double delta = 0;
  double least_share = 0;             ///< least of the stationary law, vertices without neighbours apart
  std::optional<int64_t> bound = {};  ///< on the steps to delta
  Walk worst, typical;
};

struct MixingOptions {
  double delta = 0.01;        ///< total variation distance that counts as mixed
  int64_t most_steps = 1000;  ///< walks end there, or where they are a tenth of delta from the law
};

/// The distances of one walk of specification's A^t v, v = e_start: steps by p <- W D^-1 p.
Walk measure_walk(const Topology& topology, int64_t start, const MixingOptions& options,
                  const Parallel& parallel = SerialParallel(), Progress* progress = nullptr);

/// Walks from two vertices of a graph with at least two. The worst is where the mode that decays slowest, |v_i| /
/// sqrt(degree_i), is largest: no other is further away after many steps. The typical one is the median of that.
/// Without a mode (a graph that is not connected) they are the vertices of least and of median degree.
Mixing measure_mixing(const Topology& topology, const Extremes& extremes, const MixingOptions& options = {},
                      const Parallel& parallel = SerialParallel(), Progress* progress = nullptr);

}  // namespace longspan::spectra
