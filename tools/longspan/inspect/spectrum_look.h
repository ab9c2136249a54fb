// From a pattern to what its spectrum says.
#pragma once

#include <cstdint>
#include <string>

#include "longspan/spectra/topology.h"
#include "spectrum_view.h"

namespace longspan::tool {

struct SpectrumOptions {
  std::string loops = "pattern";  ///< or on, off
  spectra::ExtremesOptions extremes = {};
  spectra::MixingOptions mixing = {};
  int64_t hops = 5, reach_queries = 256;
  double alpha = 0.1, t = 3;
};

/// Throws InputError for other loops than pattern, on and off.
spectra::SelfLoops loops_from_string(const std::string& text);

/// Everything; all eigenvalues up to spectra::kMostForFullSpectrum tokens. `quiet`: no progress. A Ctrl-C ends it.
SpectrumLook look_at_spectrum(PatternLook pattern, const SpectrumOptions& options, bool quiet);

}  // namespace longspan::tool
