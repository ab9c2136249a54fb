#include "results.h"

#include <algorithm>
#include <cmath>

namespace longspan::tool {

std::optional<ScoreCell> score_of(const DocumentResults& results, const std::string& task,
                                  const std::string& contender) {
  ScoreCell cell{0, 1, 0, 0};
  for (const DocumentScore& score : results.scores) {
    if (score.task != task || score.contender != contender) continue;
    cell.mean += score.test;
    cell.lowest = std::min(cell.lowest, score.test);
    cell.highest = std::max(cell.highest, score.test);
    ++cell.seeds;
  }
  if (cell.seeds == 0) return std::nullopt;
  cell.mean /= cell.seeds;
  return cell;
}

const DocumentData* data_of(const DocumentResults& results, const std::string& task) {
  const auto at = std::find_if(results.data.begin(), results.data.end(),
                               [&](const DocumentData& data) { return data.task == task; });
  return at == results.data.end() ? nullptr : &*at;
}

std::optional<double> cost_of(const DocumentResults& results, const std::string& contender, int64_t length) {
  for (const DocumentCost& cost : results.costs)
    if (cost.contender == contender && cost.length == length) return cost.seconds;
  return std::nullopt;
}

int64_t independent_documents(const DocumentTask& task, const DocumentData& data) { return data.test / task.siblings; }

double sampling_error(double score, int64_t documents) {
  constexpr double kQuantile = 1.959964;  // of the normal distribution at 0.975
  return documents > 0 ? kQuantile * std::sqrt(score * (1 - score) / static_cast<double>(documents)) : 0;
}

Json document_metrics(const DocumentPlan& plan, const DocumentResults& results) {
  Json tasks = Json::object();
  for (const DocumentTask& task : plan.tasks) {
    Json& entry = tasks[task.name];
    entry = Json::object();
    if (const DocumentData* data = data_of(results, task.name)) {
      entry["documents"] = {{"train", data->train}, {"valid", data->valid}, {"test", data->test}};
      entry["median_tokens"] = data->median_tokens;
      entry["longest_tokens"] = data->longest_tokens;
      if (data->least_between) entry["least_tokens_between"] = *data->least_between;
      if (data->chance) entry["chance"] = *data->chance;
    }
    for (const DocumentYardstick& yardstick : results.yardsticks)
      if (yardstick.task == task.name) entry["yardsticks"][yardstick.name] = yardstick.test;
    entry["steps"] = task.steps;
    entry["batch"] = task.batch;
    for (const DocumentScore& score : results.scores) {
      if (score.task != task.name) continue;
      Json curve = Json::array();
      for (const auto& [step, value] : score.valid) curve.push_back({step, value});
      entry["attentions"][score.contender].push_back({{"seed", score.seed},
                                                      {"test", score.test},
                                                      {"seconds", score.seconds},
                                                      {"parameters", score.parameters},
                                                      {"valid", std::move(curve)}});
    }
  }
  Json costs = Json::object();
  for (const DocumentCost& cost : results.costs) {
    Json& entry = costs[cost.contender][std::to_string(cost.length)];
    entry["seconds"] = cost.seconds;
    if (cost.bytes) entry["bytes"] = *cost.bytes;
  }
  return {{"full", plan.full},         {"seeds", plan.seeds},        {"tasks", std::move(tasks)},
          {"costs", std::move(costs)}, {"sources", results.sources}, {"environment", to_json(results.environment)},
          {"seconds", results.seconds}};
}

}  // namespace longspan::tool
