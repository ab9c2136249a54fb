#include "spectrum_view.h"

#include <algorithm>
#include <cmath>

#include "longspan/base/check.h"
#include "longspan/report/format.h"
#include "longspan/report/table.h"
#include "longspan/spectra/response.h"

namespace longspan::tool {

namespace {

using report::significant;
using spectra::Extreme;
using spectra::Walk;

/// The least share that a chart of distances shows.
constexpr double kLeastShown = 1e-5;

template <class T>
Json optional_json(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

std::string steps_text(const std::optional<int64_t>& steps) { return steps ? report::grouped(*steps) : "none"; }

/// 2 sqrt(d - 1) / d: no d-regular graph of many vertices has a beta much below it (Alon and Boppana).
double ramanujan_line(double degree) { return degree > 1 ? 2 * std::sqrt(degree - 1) / degree : 1; }

std::string heading(const SpectrumLook& look) {
  return str_cat(look.pattern.name, ", ", report::grouped(look.pattern.pattern.size()), " tokens");
}

Json extreme_json(const Extreme& extreme) {
  return {{"value", extreme.value},
          {"residual", extreme.residual},
          {"converged", extreme.converged},
          {"products", extreme.products}};
}

Json walk_json(const Walk& walk) {
  return {{"start", walk.start}, {"mixing_time", optional_json(walk.mixing_time)}, {"distance", walk.distance}};
}

std::string extreme_text(const Extreme& extreme) {
  std::string out = significant(extreme.value, 6);
  if (extreme.products > 0)
    out += str_cat(" (residual ", significant(extreme.residual, 2), ", ", report::grouped(extreme.products),
                   " products", extreme.converged ? ")" : "; NOT CONVERGED)");
  return out;
}

std::vector<report::Mark> ends(const SpectrumLook& look) {
  if (!look.extremes) return {};
  return {{look.extremes->second.value, str_cat("lambda 2 = ", significant(look.extremes->second.value, 4))},
          {look.extremes->largest.value, str_cat("lambda max = ", significant(look.extremes->largest.value, 4))}};
}

report::Table response_table(const SpectrumLook& look) {
  report::Table table;
  table.columns = {{"diffusion"}, {"mean hops", true}, {"at lambda 2", true}, {"at 1", true}, {"at lambda max", true}};
  for (const HopWeights& kind : look.kinds) {
    double hops = 0;
    for (std::size_t k = 0; k < kind.theta.size(); ++k) hops += static_cast<double>(k) * kind.theta[k];
    const auto at = [&](double lambda) { return significant(spectra::response(kind.theta, lambda), 4); };
    table.rows.push_back(
        {kind.kind, significant(hops, 4), at(look.extremes->second.value), at(1), at(look.extremes->largest.value)});
  }
  return table;
}

report::Table reach_table(const SpectrumLook& look) {
  report::Table table;
  table.columns = {{"hops", true}, {"keys reached, mean", true}, {"least", true}};
  for (std::size_t hop = 0; hop < look.reach.mean.size(); ++hop)
    table.rows.push_back({std::to_string(hop + 1), significant(100 * look.reach.mean[hop], 4) + " %",
                          significant(100 * look.reach.least[hop], 4) + " %"});
  return table;
}

}  // namespace

Json to_json(const SpectrumLook& look) {
  Json json;
  json["pattern"] = look.pattern.name;
  json["generators"] = look.pattern.options.pattern;
  json["n"] = look.pattern.pattern.size();
  json["seed"] = look.pattern.seed;
  json["layer"] = look.pattern.layer;
  json["loops"] = look.loops;
  json["nnz"] = look.pattern.pattern.pairs();
  json["density"] = look.pattern.pattern.density();
  json["degree_min"] = look.degree_min;
  json["degree_mean"] = look.degree_mean;
  json["degree_max"] = look.degree_max;
  json["components"] = look.components;
  json["isolated"] = look.isolated;
  json["bytes"] = look.graph_bytes;
  const bool any = look.extremes.has_value();
  json["lambda_2"] = any ? extreme_json(look.extremes->second) : Json();
  json["lambda_max"] = any ? extreme_json(look.extremes->largest) : Json();
  json["beta"] = any ? Json(look.extremes->beta) : Json();
  json["expander_ratio"] = any && look.regular() ? Json(look.extremes->beta) : Json();
  json["ramanujan"] = any ? Json(ramanujan_line(look.degree_mean)) : Json();
  json["mixing"] = Json();
  if (look.mixing)
    json["mixing"] = {{"delta", look.mixing->delta},
                      {"bound", optional_json(look.mixing->bound)},
                      {"worst", walk_json(look.mixing->worst)},
                      {"typical", walk_json(look.mixing->typical)}};
  json["reach"] = {{"queries", look.reach.queries},
                   {"mean", look.reach.mean},
                   {"least", look.reach.least},
                   {"hops_to_all", optional_json(look.reach.hops_to_all)}};
  json["responses"] = Json::array();
  for (const HopWeights& kind : look.kinds) {
    Json entry = {{"diffusion", kind.kind}, {"weights", kind.theta}};
    entry["at_lambda_2"] = any ? Json(spectra::response(kind.theta, look.extremes->second.value)) : Json();
    entry["at_lambda_max"] = any ? Json(spectra::response(kind.theta, look.extremes->largest.value)) : Json();
    json["responses"].push_back(std::move(entry));
  }
  json["eigenvalues"] = look.spectrum;
  json["options"] = longspan::to_json(patterns::pattern_values(look.pattern.options));
  return json;
}

std::string to_text(const SpectrumLook& look) {
  std::string text = str_cat(
      heading(look), ", seed ", look.pattern.seed, ": the graph of max(M, M^T), loops: ", look.loops, "\n  ",
      report::grouped(look.pattern.pattern.pairs()), " pairs, ", significant(100 * look.pattern.pattern.density(), 4),
      " %; neighbours of a token: ", report::grouped(std::llround(look.degree_min)), " to ",
      report::grouped(std::llround(look.degree_max)), ", mean ", significant(look.degree_mean, 4),
      "\n  components: ", report::grouped(look.components),
      look.isolated > 0 ? str_cat("; tokens without neighbours: ", report::grouped(look.isolated)) : "", "\n");
  if (!look.extremes) return text + "  fewer than two tokens have no second eigenvalue\n";
  const spectra::Extremes& e = *look.extremes;
  text += str_cat(
      "  lambda 2    ", extreme_text(e.second), "\n  lambda max  ", extreme_text(e.largest), "\n  beta        ",
      significant(e.beta, 6), ": a step of the walk shrinks what is not even to at most that", "\n  yardstick   ",
      significant(ramanujan_line(look.degree_mean), 4), " = 2 sqrt(d - 1) / d with the mean degree (Ramanujan)",
      look.regular() ? str_cat("; expander ratio of this regular graph: ", significant(e.beta, 4)) : "", "\n");
  if (look.mixing) {
    const auto walk = [&](const char* name, const Walk& w) {
      return str_cat(name, " (token ", report::grouped(w.start), ") ",
                     w.mixing_time
                         ? report::grouped(*w.mixing_time) + " steps"
                         : str_cat("not within ", report::grouped(static_cast<int64_t>(w.distance.size()) - 1),
                                   " steps (still ", significant(w.distance.back(), 3), " away)"));
    };
    text += str_cat("  mixing to ", significant(look.mixing->delta, 2), " in total variation: bound ",
                    steps_text(look.mixing->bound), "; measured ", walk("worst", look.mixing->worst), ", ",
                    walk("typical", look.mixing->typical), "\n");
  }
  text +=
      str_cat("\n", report::indent(report::to_text(reach_table(look)), 2), "  of ", report::grouped(look.reach.queries),
              " queries; all keys ",
              look.reach.hops_to_all ? str_cat("after ", *look.reach.hops_to_all, " hops") : "not within these hops",
              "\n\n", report::indent(report::to_text(response_table(look)), 2));
  return text;
}

std::string to_csv(const SpectrumLook& look) {
  std::string out = "index,eigenvalue";
  for (const HopWeights& kind : look.kinds) out += str_cat(",", kind.kind);
  const auto line = [&](int64_t index, double lambda) {
    out += str_cat("\n", index, ",", report::number(lambda));
    for (const HopWeights& kind : look.kinds)
      out += str_cat(",", report::number(spectra::response(kind.theta, lambda)));
  };
  for (std::size_t i = 0; i < look.spectrum.size(); ++i) line(static_cast<int64_t>(i), look.spectrum[i]);
  if (look.spectrum.empty() && look.extremes) {
    line(1, look.extremes->second.value);
    line(look.pattern.pattern.size() - 1, look.extremes->largest.value);
  }
  return out + "\n";
}

report::LineChart eigenvalue_chart(const SpectrumLook& look) {
  report::LineChart chart;
  chart.title = "Eigenvalues of the normalised Laplacian: " + heading(look);
  chart.x_label = "index";
  chart.y_label = "eigenvalue";
  chart.y_from_zero = true;
  chart.series.push_back({look.pattern.name});
  for (std::size_t i = 0; i < look.spectrum.size(); ++i)
    chart.series.back().points.emplace_back(static_cast<double>(i), look.spectrum[i]);
  chart.y_marks = ends(look);
  return chart;
}

report::LineChart mixing_chart(const SpectrumLook& look) {
  report::LineChart chart;
  chart.title = "A random walk forgets its start: " + heading(look);
  chart.x_label = "steps";
  chart.y_label = "total variation distance from the stationary law";
  chart.y_log = true;
  if (!look.mixing) return chart;
  const auto& mixing = *look.mixing;
  std::size_t shown = 0;
  for (const auto& [name, walk] : {std::pair{"worst token", &mixing.worst}, {"typical token", &mixing.typical}}) {
    chart.series.push_back({name});
    for (std::size_t t = 0; t < walk->distance.size() && walk->distance[t] >= kLeastShown; ++t)
      chart.series.back().points.emplace_back(static_cast<double>(t), walk->distance[t]);
    shown = std::max(shown, walk->distance.size());
  }
  chart.series.push_back({"bound"});
  for (std::size_t t = 0; t < shown; ++t) {
    const double bound = spectra::mixing_bound(look.extremes->beta, mixing.least_share, static_cast<int64_t>(t));
    if (bound >= kLeastShown) chart.series.back().extrapolated.emplace_back(static_cast<double>(t), bound);
  }
  chart.y_marks = {{mixing.delta, str_cat("mixed: ", significant(mixing.delta, 2))}};
  return chart;
}

report::LineChart response_chart(const SpectrumLook& look) {
  report::LineChart chart;
  chart.title = "What diffusion keeps of each eigenvector: " + heading(look);
  chart.x_label = "eigenvalue of the normalised Laplacian";
  chart.y_label = "response";
  for (const HopWeights& kind : look.kinds) {
    chart.series.push_back({kind.kind});
    for (int step = 0; step <= 100; ++step)
      chart.series.back().points.emplace_back(step / 50.0, spectra::response(kind.theta, step / 50.0));
  }
  chart.x_marks = ends(look);
  return chart;
}

}  // namespace longspan::tool
