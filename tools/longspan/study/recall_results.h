// What a study of recall measured.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "longspan/io/json.h"
#include "longspan/report/table.h"
#include "tools/longspan/study/cell_rows.h"
#include "tools/longspan/study/study_results.h"

namespace longspan::tool {

/// One model at one K and n.
struct RecallScore {
  int64_t pairs = 0, length = 0, questions = 0;
  double accuracy = 0, standard_error = 0;  ///< from the spread over rows
};

/// One model, trained with one seed.
struct RecallRun {
  int64_t seed = 0;
  double validation = 0, validation_loss = 0;  ///< on rows like those that training ends with
  double train_seconds = 0, seconds = 0;
  std::vector<RecallScore> scores;
  std::vector<std::pair<double, double>> curve;  ///< loss by steps
};

struct RecallVariant : StudyModels {
  int64_t heads = 0;                 ///< of all layers
  std::vector<RecallRun> runs = {};  ///< one for each seed
};

struct RecallStudy {
  std::string title;
  std::vector<RecallVariant> variants;
  std::vector<StudyPanel> panels;
  std::vector<int64_t> pairs, lengths;
  int64_t at_pairs = 0, at_length = 0;  ///< of the frontier
  bool copy = false;
  double chance = 0;           ///< accuracy of one who knows nothing
  int64_t train_length = 0;    ///< n of the longest rows of training
  StudyConditions conditions;  ///< of its recipe: what all memories share
};

/// Over seeds, or of one seed over rows.
std::optional<MeanScore> mean_score(const RecallVariant& variant, int64_t pairs, int64_t length);
/// "0.953 ± 0.004"
std::string to_text(const MeanScore& score);

/// State of one head behind n tokens.
double state_per_head(const RecallVariant& variant, int64_t length);

/// Of a result file, as run_recall_cell() made it.
RecallRun recall_run(int64_t seed, const Json& result);

/// A row for each variant: state, parameters, accuracy by K at the longest n; the same by n at K = at_pairs.
report::Table by_pairs_table(const RecallStudy& study);
report::Table by_length_table(const RecallStudy& study);
/// Every K and n.
report::Table all_scores_table(const RecallStudy& study);
report::Table training_table(const RecallStudy& study);

/// Everything, for results.json; a line for every seed, K and n, for results.csv.
Json to_json(const RecallStudy& study);
std::string to_csv(const RecallStudy& study);

/// The tables for a page in Markdown, with the command that gave them.
std::string to_markdown(const RecallStudy& study);

}  // namespace longspan::tool
