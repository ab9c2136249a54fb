// All eigenvalues of a small graph.
#pragma once

#include <cstdint>
#include <vector>

#include "longspan/base/parallel.h"
#include "longspan/spectra/topology.h"

namespace longspan::spectra {

/// Tokens up to which full_spectrum() takes seconds.
inline constexpr int64_t kMostForFullSpectrum = 2048;

/// Eigenvalues of the normalised Laplacian, ascending, [N], by a dense solver: O(N^3) time, 16 N^2 bytes. InputError
/// with the bytes needed for more than `memory_limit` (0: the memory of the machine).
std::vector<double> full_spectrum(const Topology& topology, const Parallel& parallel = SerialParallel(),
                                  int64_t memory_limit = 0);

}  // namespace longspan::spectra
