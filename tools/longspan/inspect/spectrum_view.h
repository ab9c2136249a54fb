// The spectrum of a pattern's graph as numbers, text, CSV and pictures.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "longspan/io/json.h"
#include "longspan/report/chart.h"
#include "longspan/spectra/extremes.h"
#include "longspan/spectra/mixing.h"
#include "longspan/spectra/reach.h"
#include "pattern_view.h"

namespace longspan::tool {

/// A kind of diffusion as the weights of V, A V, .., A^K V.
struct HopWeights {
  std::string kind;
  std::vector<double> theta;  ///< [K + 1]
};

/// The graph of one pattern: what was computed of it.
struct SpectrumLook {
  PatternLook pattern;
  std::string loops;  ///< pattern, on or off
  double degree_min = 0, degree_mean = 0, degree_max = 0;
  int64_t components = 0, isolated = 0, graph_bytes = 0;
  std::vector<double> spectrum = {};  ///< all eigenvalues, ascending; empty for more tokens than a dense solver takes
  std::optional<spectra::Extremes> extremes = {};  ///< nothing for fewer than two tokens
  std::optional<spectra::Mixing> mixing = {};
  spectra::Reach reach = {};
  std::vector<HopWeights> kinds = {};

  bool regular() const { return degree_min == degree_max; }
};

Json to_json(const SpectrumLook& look);
std::string to_text(const SpectrumLook& look);
/// index, eigenvalue, and the response of each kind there: all eigenvalues, or those of both ends.
std::string to_csv(const SpectrumLook& look);

/// Eigenvalue against index, both ends marked.
report::LineChart eigenvalue_chart(const SpectrumLook& look);
/// Total variation distance of the walks against their steps, beside the bound.
report::LineChart mixing_chart(const SpectrumLook& look);
/// The response of every kind over [0, 2], both ends of the spectrum marked.
report::LineChart response_chart(const SpectrumLook& look);

}  // namespace longspan::tool
