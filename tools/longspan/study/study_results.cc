#include "tools/longspan/study/study_results.h"

#include <cmath>

#include "longspan/base/check.h"
#include "longspan/report/chart.h"
#include "longspan/report/format.h"

namespace longspan::tool {

void read_sizes(StudyModels& models, const Json& result) {
  models.parameters = result.at("parameters").get<int64_t>();
  for (const auto& [length, bytes] : result.at("state_bytes").items())
    models.state_bytes[std::stoll(length)] = bytes.get<double>();
}

Json state_json(const StudyModels& models) {
  Json out = Json::object();
  for (const auto& [length, bytes] : models.state_bytes) out[std::to_string(length)] = bytes;
  return out;
}

Json search_json(const StudyModels& models, const std::string& loss) {
  Json out = Json::array();
  for (const SearchResult& point : models.search) out.push_back({{"setting", point.label}, {loss, point.loss}});
  return out;
}

std::vector<std::vector<std::string>> charts_of(const std::vector<std::string>& names) {
  std::vector<std::vector<std::string>> out;
  for (std::size_t i = 0; i < names.size(); i += report::kSeriesColours)
    out.emplace_back(names.begin() + static_cast<std::ptrdiff_t>(i),
                     names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), i + report::kSeriesColours)));
  return out;
}

MeanScore mean_of(const std::vector<double>& values) {
  MeanScore out;
  const auto count = static_cast<double>(values.size());
  out.seeds = static_cast<int>(values.size());
  for (const double value : values) out.mean += value / count;
  if (values.size() < 2) return out;
  double squares = 0;
  for (const double value : values) squares += (value - out.mean) * (value - out.mean);
  out.error = std::sqrt(squares / (count - 1) / count);
  return out;
}

std::string seeds_text(std::size_t seeds, const std::string& one) {
  return seeds > 1 ? str_cat("mean ± standard error over ", seeds, " seeds") : one;
}

void add_search(report::Table& table, const StudyModels& models) {
  for (const SearchResult& point : models.search)
    table.rows.push_back({models.variant.name, point.label,
                          std::isfinite(point.loss) ? report::fixed(point.loss, 4) : "diverged",
                          point.label == models.chosen ? "yes" : ""});
}

}  // namespace longspan::tool
