#include "results.h"

#include <algorithm>

#include "longspan/base/check.h"
#include "longspan/report/format.h"

namespace longspan::tool {

namespace {

template <class Value>
double mean_of(const std::vector<AblationRun>& runs, const Value& value) {
  double sum = 0;
  for (const AblationRun& run : runs) sum += value(run);
  return sum / static_cast<double>(runs.size());
}

double tokens_per_second(const AblationResult& result) {
  return mean_of(result.runs, [](const AblationRun& run) { return run.tokens_per_second; });
}

}  // namespace

double AblationResult::mean() const {
  return mean_of(runs, [](const AblationRun& run) { return run.bits_per_byte; });
}

double AblationResult::difference(const AblationResult& full) const {
  LONGSPAN_ASSERT(runs.size() == full.runs.size(), "rows with different seeds");
  double sum = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) sum += runs[i].bits_per_byte - full.runs[i].bits_per_byte;
  return sum / static_cast<double>(runs.size());
}

std::optional<double> AblationResult::memory_effect() const {
  if (!runs.front().without_memory) return std::nullopt;
  return mean_of(runs, [](const AblationRun& run) { return *run.without_memory - run.bits_per_byte; });
}

Json to_json(const AblationResult& result, const AblationResult& full) {
  const auto effect = result.memory_effect();
  Json json = {{"name", result.row.name},
               {"options", longspan::to_json(result.row.options)},
               {"bits_per_byte", result.mean()},
               {"difference", result.difference(full)},
               {"memory_effect", effect ? Json(*effect) : Json()},
               {"parameters", result.runs.front().parameters},
               {"tokens_per_second", tokens_per_second(result)},
               {"runs", Json::array()}};
  for (const AblationRun& run : result.runs)
    json["runs"].push_back({{"seed", run.seed},
                            {"bits_per_byte", run.bits_per_byte},
                            {"bits_per_byte_without_memory", run.without_memory ? Json(*run.without_memory) : Json()},
                            {"tokens_per_second", run.tokens_per_second}});
  return json;
}

report::Table ablation_table(const std::vector<AblationResult>& results) {
  const bool seeds = results.front().runs.size() > 1;
  report::Table table;
  table.columns = {{"LAVO"},
                   {"bits per byte", true},
                   {"difference", true},
                   {"memory to zero", true},
                   {"parameters", true},
                   {"training tokens/s", true}};
  if (seeds) table.columns.push_back({"lowest to highest"});
  for (const AblationResult& result : results) {
    const bool first = &result == &results.front();
    const auto effect = result.memory_effect();
    table.rows.push_back({result.row.name, report::fixed(result.mean(), 4),
                          first ? "" : report::signed_fixed(result.difference(results.front()), 4),
                          effect ? report::signed_fixed(*effect, 4) : "-",
                          report::grouped(result.runs.front().parameters),
                          report::grouped(static_cast<int64_t>(tokens_per_second(result)))});
    if (!seeds) continue;
    const auto [low, high] = std::minmax_element(
        result.runs.begin(), result.runs.end(),
        [](const AblationRun& a, const AblationRun& b) { return a.bits_per_byte < b.bits_per_byte; });
    table.rows.back().push_back(report::fixed(low->bits_per_byte, 4) + " to " + report::fixed(high->bits_per_byte, 4));
  }
  return table;
}

}  // namespace longspan::tool
