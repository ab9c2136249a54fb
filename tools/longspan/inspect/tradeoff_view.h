// What several patterns cost and how well they connect, as table, CSV, charts and a page.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "longspan/io/json.h"
#include "longspan/report/chart.h"
#include "longspan/report/html.h"
#include "longspan/report/table.h"
#include "spectrum_view.h"

namespace longspan::tool {

/// A pattern and its settings, "window_overlap+random:w=64,r=16".
struct PatternChoice {
  std::string name;                   ///< rows of one name make a line
  std::vector<std::string> settings;  ///< of the pattern, "w=64"
};
/// InputError naming --pattern for an empty name.
PatternChoice parse_choice(const std::string& text);

/// The families that are compared unless others are named.
std::vector<PatternChoice> default_choices();
/// Those of the figure of eigenvalues: a window, with random keys, with global tokens, with both.
std::vector<PatternChoice> figure_choices();

struct TradeoffRow {
  PatternChoice choice;
  int64_t pairs = 0;
  double density = 0;
  spectra::Extremes extremes;
  std::optional<int64_t> hops_to_all;  ///< within the hops of the diffusion
  double forward_us = 0, both_us = 0;  ///< per token: forward; forward and backward
  double forward_spread = 0, both_spread = 0;
};

struct TradeoffLook {
  int64_t n = 0, figure_n = 0, hops = 0, heads = 0, head_dim = 0;
  int threads = 0;
  uint64_t seed = 0;
  std::string dtype;
  std::vector<TradeoffRow> rows;
  std::vector<SpectrumLook> figure;  ///< with all eigenvalues
};

Json to_json(const TradeoffLook& look, const TradeoffRow& row);
report::Table tradeoff_table(const TradeoffLook& look);
std::string tradeoff_csv(const TradeoffLook& look);
/// index, and the eigenvalues of each pattern of the figure.
std::string figure_csv(const TradeoffLook& look);

/// Eigenvalue against index, the ends of each marked.
report::LineChart figure_chart(const TradeoffLook& look);
/// 1 - beta against the part of all pairs, a line for each family.
report::LineChart density_chart(const TradeoffLook& look);
/// 1 - beta against the time of a token, forward and backward.
report::LineChart time_chart(const TradeoffLook& look);

report::HtmlPage tradeoff_page(const TradeoffLook& look, const std::string& command);

}  // namespace longspan::tool
