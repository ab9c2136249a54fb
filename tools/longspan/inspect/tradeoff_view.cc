#include "tradeoff_view.h"

#include <algorithm>
#include <functional>

#include "longspan/base/check.h"
#include "longspan/report/format.h"
#include "tools/longspan/settings.h"

namespace longspan::tool {

namespace {

using report::significant;

std::string settings_text(const PatternChoice& choice) { return report::join(choice.settings, ","); }

double gap(const TradeoffRow& row) { return 1 - row.extremes.beta; }

bool converged(const TradeoffRow& row) { return row.extremes.second.converged && row.extremes.largest.converged; }

/// One line for each name, in the order in which they come; points ascend along x.
report::LineChart chart_of(const TradeoffLook& look, const std::string& title, const std::string& x_label,
                           const std::function<double(const TradeoffRow&)>& x) {
  report::LineChart chart;
  chart.title = str_cat(title, ", ", report::grouped(look.n), " tokens");
  chart.x_label = x_label;
  chart.y_label = "1 - beta: higher is better connected";
  chart.x_log = chart.y_log = true;
  for (const TradeoffRow& row : look.rows) {
    auto series = std::find_if(chart.series.begin(), chart.series.end(),
                               [&](const report::Series& s) { return s.name == row.choice.name; });
    if (series == chart.series.end()) series = chart.series.insert(series, report::Series{row.choice.name});
    series->points.emplace_back(x(row), gap(row));
  }
  for (report::Series& series : chart.series) std::sort(series.points.begin(), series.points.end());
  return chart;
}

}  // namespace

PatternChoice parse_choice(const std::string& text) {
  const std::size_t colon = text.find(':');
  PatternChoice out;
  out.name = text.substr(0, colon);
  LONGSPAN_CHECK(!out.name.empty(), "--pattern: expected NAME or NAME:FIELD=VALUE,..., got '", text, "'");
  if (colon != std::string::npos) out.settings = parse_names("--pattern", text.substr(colon + 1));
  return out;
}

std::vector<PatternChoice> default_choices() {
  std::vector<PatternChoice> out;
  for (const char* w : {"64", "128", "256", "512"}) out.push_back({"window_overlap", {str_cat("w=", w)}});
  for (const char* r : {"8", "16", "32", "64"}) out.push_back({"window_overlap+random", {"w=64", str_cat("r=", r)}});
  for (const char* g : {"8", "16", "32", "64"}) out.push_back({"window_overlap+global", {"w=64", str_cat("g=", g)}});
  for (const char* b : {"8", "16", "32", "64"})
    out.push_back({"window_overlap+global+random", {"w=64", str_cat("g=", b), str_cat("r=", b)}});
  for (const char* w : {"128", "256", "512"}) out.push_back({"longformer", {str_cat("w=", w)}});
  for (const char* r : {"1", "3", "5"}) out.push_back({"bigbird", {"b=64", str_cat("bigbird_r=", r)}});
  return out;
}

std::vector<PatternChoice> figure_choices() {
  return {{"window_overlap", {"w=64"}},
          {"window_overlap+random", {"w=64", "r=16"}},
          {"window_overlap+global", {"w=64", "g=16"}},
          {"window_overlap+global+random", {"w=64", "g=16", "r=16"}}};
}

Json to_json(const TradeoffLook& look, const TradeoffRow& row) {
  return {{"pattern", row.choice.name},
          {"settings", settings_text(row.choice)},
          {"n", look.n},
          {"seed", look.seed},
          {"nnz", row.pairs},
          {"density", row.density},
          {"lambda_2", row.extremes.second.value},
          {"lambda_max", row.extremes.largest.value},
          {"residual", std::max(row.extremes.second.residual, row.extremes.largest.residual)},
          {"converged", converged(row)},
          {"beta", row.extremes.beta},
          {"hops", look.hops},
          {"hops_to_all", row.hops_to_all ? Json(*row.hops_to_all) : Json()},
          {"heads", look.heads},
          {"head_dim", look.head_dim},
          {"dtype", look.dtype},
          {"threads", look.threads},
          {"us_per_token_forward", row.forward_us},
          {"us_per_token_forward_backward", row.both_us},
          {"spread_forward", row.forward_spread},
          {"spread_forward_backward", row.both_spread}};
}

report::Table tradeoff_table(const TradeoffLook& look) {
  report::Table table;
  table.columns = {{"pattern"},           {"settings"},         {"of all pairs", true},
                   {"lambda 2", true},    {"lambda max", true}, {"beta", true},
                   {"hops to all", true}, {"us/token", true},   {"with backward", true}};
  for (const TradeoffRow& row : look.rows) {
    const auto value = [](const spectra::Extreme& e) { return significant(e.value, 4) + (e.converged ? "" : " ?"); };
    table.rows.push_back({row.choice.name, settings_text(row.choice), significant(100 * row.density, 4) + " %",
                          value(row.extremes.second), value(row.extremes.largest), significant(row.extremes.beta, 4),
                          row.hops_to_all ? std::to_string(*row.hops_to_all) : str_cat("> ", look.hops),
                          significant(row.forward_us, 3), significant(row.both_us, 3)});
  }
  return table;
}

std::string tradeoff_csv(const TradeoffLook& look) {
  std::string out =
      "pattern,settings,n,nnz,density,lambda_2,lambda_max,converged,beta,hops_to_all,us_per_token_forward,"
      "us_per_token_forward_backward\n";
  for (const TradeoffRow& row : look.rows)
    out += str_cat(row.choice.name, ",\"", settings_text(row.choice), "\",", look.n, ",", row.pairs, ",",
                   report::number(row.density), ",", report::number(row.extremes.second.value), ",",
                   report::number(row.extremes.largest.value), ",", converged(row) ? "true" : "false", ",",
                   report::number(row.extremes.beta), ",", row.hops_to_all ? std::to_string(*row.hops_to_all) : "", ",",
                   report::number(row.forward_us), ",", report::number(row.both_us), "\n");
  return out;
}

std::string figure_csv(const TradeoffLook& look) {
  std::string out = "index";
  std::size_t rows = 0;
  for (const SpectrumLook& pattern : look.figure) {
    out += str_cat(",", pattern.pattern.name);
    rows = std::max(rows, pattern.spectrum.size());
  }
  for (std::size_t i = 0; i < rows; ++i) {
    out += str_cat("\n", i);
    for (const SpectrumLook& pattern : look.figure)
      out += str_cat(",", i < pattern.spectrum.size() ? report::number(pattern.spectrum[i]) : "");
  }
  return out + "\n";
}

report::LineChart figure_chart(const TradeoffLook& look) {
  report::LineChart chart;
  chart.title = str_cat("Eigenvalues of the normalised Laplacian, ", report::grouped(look.figure_n), " tokens");
  chart.x_label = "index";
  chart.y_label = "eigenvalue; dotted, and beside the names: lambda 2, lambda max";
  chart.y_from_zero = true;
  for (const SpectrumLook& pattern : look.figure) {
    chart.series.push_back({pattern.pattern.name});
    for (std::size_t i = 0; i < pattern.spectrum.size(); ++i)
      chart.series.back().points.emplace_back(static_cast<double>(i), pattern.spectrum[i]);
    if (!pattern.extremes) continue;
    // Eight labels at the lines themselves would crowd: the values stand beside the names.
    const double second = pattern.extremes->second.value, largest = pattern.extremes->largest.value;
    chart.series.back().name += str_cat(": ", significant(second, 3), ", ", significant(largest, 4));
    chart.y_marks.insert(chart.y_marks.end(), {{second}, {largest}});
  }
  return chart;
}

report::LineChart density_chart(const TradeoffLook& look) {
  return chart_of(look, "Connection against pairs", "part of all pairs",
                  [](const TradeoffRow& row) { return row.density; });
}

report::LineChart time_chart(const TradeoffLook& look) {
  return chart_of(look, "Connection against time", "microseconds a token, forward and backward",
                  [](const TradeoffRow& row) { return row.both_us; });
}

report::HtmlPage tradeoff_page(const TradeoffLook& look, const std::string& command) {
  report::HtmlPage page("Sparse patterns: pairs, connection, time");
  page.lead(
      "A pattern is the better the fewer pairs it has, the sooner a walk along them forgets where it began, and the "
      "less "
      "time its attention takes. The three do not go together.");
  page.paragraph(
      "1 - beta is the spectral gap of the pattern's graph: a step of a random walk shrinks what is not even by a "
      "factor of "
      "at most beta. It speaks of the pattern alone, not of what an attention learns to weigh in it.");
  page.charts({{density_chart(look), "Up and to the left is better."},
               {time_chart(look), str_cat("The operator with ", look.hops, " hops, ", look.heads, " heads of ",
                                          look.head_dim, ", ", look.dtype, ", ", look.threads, " threads.")}});
  page.table(tradeoff_table(look), "A question mark: the search for the eigenvalue did not converge.");
  if (!look.figure.empty()) {
    page.heading("All eigenvalues");
    page.chart(figure_chart(look),
               "The farther the second eigenvalue is from 0, and the last one from 2, the faster a walk mixes.");
  }
  page.facts({{"command", command}, {"seed", std::to_string(look.seed)}});
  return page;
}

}  // namespace longspan::tool
