// What the results of all studies have in common.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "longspan/io/json.h"
#include "longspan/report/table.h"
#include "tools/longspan/study/variant.h"

namespace longspan::tool {

/// What a search found at one point, with the first seed.
struct SearchResult {
  std::string label;
  double loss = 0;  ///< of validation; infinite: training diverged
};

/// The models of one variant, whatever they were measured by.
struct StudyModels {
  StudyVariant variant;
  int64_t parameters = 0;
  std::map<int64_t, double> state_bytes = {};  ///< of the whole model behind n tokens, by n
  std::vector<SearchResult> search = {};       ///< every point, when there was a search
  std::string chosen = {};                     ///< the best of them, "" without a search
};

/// Parameters and state from the result of a cell.
void read_sizes(StudyModels& models, const Json& result);
/// {"n": bytes} and [{"setting", LOSS}], null for a setting whose training diverged.
Json state_json(const StudyModels& models);
Json search_json(const StudyModels& models, const std::string& loss);

/// Variants that answer one question.
struct StudyPanel {
  std::string title, about;
  std::vector<std::string> names;
};
/// Names for one chart after the other, each of as many as have a colour of their own.
std::vector<std::vector<std::string>> charts_of(const std::vector<std::string>& names);

/// A mean with its standard error.
struct MeanScore {
  double mean = 0, error = 0;
  int seeds = 0;
};
/// Over seeds; without an error for fewer than two. `values` holds at least one.
MeanScore mean_of(const std::vector<double>& values);

/// Null when there is none of this name.
template <class Models>
const Models* find_models(const std::vector<Models>& all, const std::string& name) {
  const auto at =
      std::find_if(all.begin(), all.end(), [&](const Models& models) { return models.variant.name == name; });
  return at == all.end() ? nullptr : &*at;
}

/// Seeds of the variant that has most.
template <class Models>
std::size_t most_seeds(const std::vector<Models>& all) {
  std::size_t seeds = 0;
  for (const Models& models : all) seeds = std::max(seeds, models.runs.size());
  return seeds;
}

/// "mean ± standard error over N seeds", or `one`.
std::string seeds_text(std::size_t seeds, const std::string& one);

/// A row for each point that was tried; `loss`: what points were compared by.
void add_search(report::Table& table, const StudyModels& models);
template <class Models>
report::Table search_table(const std::vector<Models>& all, const std::string& loss) {
  report::Table table;
  table.columns = {{"memory"}, {"tried"}, {loss, true}, {"chosen"}};
  for (const Models& models : all) add_search(table, models);
  return table;
}

}  // namespace longspan::tool
