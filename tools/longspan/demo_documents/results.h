// What the document demo measured: plain numbers, from which metrics.json and the report are written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "longspan/io/json.h"
#include "plan.h"
#include "tools/longspan/environment.h"

namespace longspan::tool {

/// The data of one task.
struct DocumentData {
  std::string task;
  int64_t train = 0, valid = 0, test = 0;  ///< documents
  int64_t median_tokens = 0, longest_tokens = 0;
  std::optional<int64_t> least_between;  ///< pairs: tokens between the first passage and the last, over all documents
  std::optional<double> chance;          ///< score of the answer that is most common in training; none for questions
};

/// One model, trained with one seed on one task.
struct DocumentScore {
  std::string task, contender;
  int64_t seed = 0, parameters = 0, steps = 0;
  double seconds = 0;
  double test = 0;                                     ///< from 0 to 1: accuracy, F1, accuracy on masked tokens
  std::vector<std::pair<int64_t, double>> valid = {};  ///< score after so many steps
};

/// A score that no attention had a part in, or one of a part of the document.
struct DocumentYardstick {
  std::string task, name;
  double test = 0;
};

/// What a training step of one sequence costs.
struct DocumentCost {
  std::string contender;
  int64_t length = 0;
  double seconds = 0;
  std::optional<double> bytes = {};  ///< peak beyond what is held between steps; none where the system does not say
};

struct DocumentResults {
  std::vector<DocumentData> data;
  std::vector<DocumentScore> scores;
  std::vector<DocumentYardstick> yardsticks;
  std::vector<DocumentCost> costs;
  Json sources = Json::array();  ///< of the data: packages, versions, licences
  Environment environment;
  std::vector<std::string> command;
  double seconds = 0;
};

/// Mean over seeds, with the extremes.
struct ScoreCell {
  double mean = 0, lowest = 0, highest = 0;
  int seeds = 0;
};
std::optional<ScoreCell> score_of(const DocumentResults& results, const std::string& task,
                                  const std::string& contender);
const DocumentData* data_of(const DocumentResults& results, const std::string& task);
std::optional<double> cost_of(const DocumentResults& results, const std::string& contender, int64_t length);

/// Test documents of a task that are independent of each other: siblings count as one.
int64_t independent_documents(const DocumentTask& task, const DocumentData& data);

/// Half the width of the interval that holds the true score of a model in 19 of 20 cases, for `documents` that are
/// independent of each other (normal approximation of the binomial distribution).
double sampling_error(double score, int64_t documents);

/// Everything, for metrics.json.
Json document_metrics(const DocumentPlan& plan, const DocumentResults& results);

}  // namespace longspan::tool
