#include "contraction_view.h"

#include <map>

#include "longspan/base/check.h"
#include "longspan/report/format.h"

namespace longspan::tool {

std::vector<Json> to_json(const ContractionLook& look) {
  std::vector<Json> out;
  for (const HeadContraction& head : look.heads) {
    Json json;
    json["model"] = look.model;
    json["attention"] = look.attention;
    json["pattern"] = look.pattern;
    json["from"] = look.from;
    json["positions"] = look.positions;
    json["layer"] = head.layer;
    json["head"] = head.head;
    json["tau"] = head.rows.largest;
    json["mean_distance"] = head.rows.mean;
    json["weights"] = head.weights;
    json["alpha"] = head.hops ? Json(head.alpha) : Json();
    json["bound"] = head.hops ? Json(head.hops->bound) : Json();
    json["measured"] = head.hops ? Json(head.hops->measured) : Json();
    out.push_back(std::move(json));
  }
  return out;
}

report::Table contraction_table(const ContractionLook& look) {
  report::Table table;
  table.columns = {{"layer", true}, {"head", true},        {"tau", true},     {"mean distance", true},
                   {"hops", true},  {"bound after", true}, {"measured", true}};
  for (const HeadContraction& head : look.heads) {
    const bool known = head.hops.has_value();
    const auto last = [&](const std::vector<double>& values) { return report::significant(values.back(), 4); };
    table.rows.push_back({std::to_string(head.layer), std::to_string(head.head),
                          report::significant(head.rows.largest, 4), report::significant(head.rows.mean, 4),
                          head.weights.empty() ? "" : std::to_string(head.weights.size() - 1),
                          known ? last(head.hops->bound) : "", known ? last(head.hops->measured) : ""});
  }
  return table;
}

std::string contraction_legend() {
  return "tau: half the largest difference of two rows of the attention matrix, 1-norm: the range of what a head "
         "mixes\n"
         "     shrinks to at most tau of it; 0 when every token attends alike, 1 when two tokens share no key\n"
         "mean distance: the same of two rows on average\n"
         "bound, measured: range of Z - Z_limit after the last hop over that before the first, (1 - alpha)^K tau^K and "
         "as it\n"
         "     is with the head's own values\n";
}

report::LineChart contraction_chart(const ContractionLook& look) {
  report::LineChart chart;
  chart.title = str_cat("Hops draw the tokens together: ", look.model);
  chart.x_label = "hops";
  chart.y_label = "distance from the limit, as a part of that before the first hop";
  chart.y_log = true;
  struct Sum {
    std::vector<double> measured, bound;
    double heads = 0;
  };
  std::map<int64_t, Sum> layers;
  for (const HeadContraction& head : look.heads) {
    if (!head.hops) continue;
    Sum& sum = layers[head.layer];
    sum.measured.resize(head.hops->measured.size(), 0);
    sum.bound.resize(head.hops->bound.size(), 0);
    for (std::size_t k = 0; k < sum.measured.size(); ++k) {
      sum.measured[k] += head.hops->measured[k];
      sum.bound[k] += head.hops->bound[k];
    }
    ++sum.heads;
  }
  for (const auto& [layer, sum] : layers) {
    chart.series.push_back({str_cat("layer ", layer)});
    for (std::size_t k = 0; k < sum.measured.size(); ++k)
      chart.series.back().points.emplace_back(static_cast<double>(k), sum.measured[k] / sum.heads);
  }
  for (const auto& [layer, sum] : layers) {
    chart.series.push_back({str_cat("bound, layer ", layer)});
    for (std::size_t k = 0; k < sum.bound.size(); ++k)
      chart.series.back().extrapolated.emplace_back(static_cast<double>(k), sum.bound[k] / sum.heads);
  }
  return chart;
}

}  // namespace longspan::tool
