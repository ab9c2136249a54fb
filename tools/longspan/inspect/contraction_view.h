// How far the attention matrices of a model draw their rows together, as JSON, table and chart.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "longspan/io/json.h"
#include "longspan/report/chart.h"
#include "longspan/report/table.h"
#include "longspan/spectra/contraction.h"

namespace longspan::tool {

/// One head of one layer on a text.
struct HeadContraction {
  int64_t layer = 0, head = 0;
  spectra::RowDistances rows;
  std::vector<double> weights = {};                  ///< [K + 1] of the hops; empty where the attention has none
  double alpha = 0;                                  ///< of the hops that were followed
  std::optional<spectra::HopContraction> hops = {};  ///< where the diffusion is the paper's iteration
};

struct ContractionLook {
  std::string model, attention, pattern;
  int64_t from = 0, positions = 0;
  std::vector<HeadContraction> heads;
};

/// One object for each head.
std::vector<Json> to_json(const ContractionLook& look);
report::Table contraction_table(const ContractionLook& look);
/// What its columns say.
std::string contraction_legend();
/// Mean over the heads of each layer after each hop, and the bounds.
report::LineChart contraction_chart(const ContractionLook& look);

}  // namespace longspan::tool
