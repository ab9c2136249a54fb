#include "tools/longspan/study/recall_results.h"

#include <algorithm>
#include <cmath>

#include "longspan/base/check.h"
#include "longspan/report/format.h"

namespace longspan::tool {

namespace {

const RecallScore* score_at(const RecallRun& run, int64_t pairs, int64_t length) {
  for (const RecallScore& score : run.scores)
    if (score.pairs == pairs && score.length == length) return &score;
  return nullptr;
}

std::string cell(const RecallVariant& variant, int64_t pairs, int64_t length) {
  const auto score = mean_score(variant, pairs, length);
  return score ? to_text(*score) : "-";
}

std::string length_title(const RecallStudy& study, int64_t length) {
  return str_cat(study.copy ? "D = " : "n = ", report::length_label(length));
}

Json to_json(const RecallRun& run) {
  Json scores = Json::array();
  for (const RecallScore& score : run.scores)
    scores.push_back({{"pairs", score.pairs},
                      {"length", score.length},
                      {"accuracy", score.accuracy},
                      {"standard_error", score.standard_error},
                      {"questions", score.questions}});
  return {{"seed", run.seed},
          {"validation_accuracy", run.validation},
          {"validation_loss", run.validation_loss},
          {"train_seconds", run.train_seconds},
          {"seconds", run.seconds},
          {"scores", scores}};
}

}  // namespace

std::optional<MeanScore> mean_score(const RecallVariant& variant, int64_t pairs, int64_t length) {
  std::vector<double> values;
  double over_rows = 0;
  for (const RecallRun& run : variant.runs)
    if (const RecallScore* score = score_at(run, pairs, length)) {
      values.push_back(score->accuracy);
      over_rows = score->standard_error;
    }
  if (values.empty()) return std::nullopt;
  MeanScore out = mean_of(values);
  if (out.seeds == 1) out.error = over_rows;
  return out;
}

std::string to_text(const MeanScore& score) {
  return report::fixed(score.mean, 3) + " ± " + report::fixed(score.error, 3);
}

double state_per_head(const RecallVariant& variant, int64_t length) {
  const auto at = variant.state_bytes.find(length);
  return at == variant.state_bytes.end() || variant.heads == 0 ? 0 : at->second / static_cast<double>(variant.heads);
}

RecallRun recall_run(int64_t seed, const Json& result) {
  RecallRun run;
  run.seed = seed;
  run.validation = result.at("validation").at("accuracy").get<double>();
  run.validation_loss = result.at("validation").at("loss").get<double>();
  run.train_seconds = result.at("train_seconds").get<double>();
  run.seconds = result.at("seconds").get<double>();
  for (const Json& score : result.at("scores"))
    run.scores.push_back({score.at("pairs").get<int64_t>(), score.at("length").get<int64_t>(),
                          score.at("questions").get<int64_t>(), score.at("accuracy").get<double>(),
                          score.at("standard_error").get<double>()});
  run.curve = curve_points(result.at("curve"));
  return run;
}

report::Table by_pairs_table(const RecallStudy& study) {
  const int64_t longest = study.lengths.back();
  report::Table table;
  table.columns = {{"memory"}, {"state a head", true}, {"parameters", true}};
  for (const int64_t pairs : study.pairs) table.columns.push_back({str_cat("K = ", pairs), true});
  for (const RecallVariant& variant : study.variants) {
    std::vector<std::string> row = {variant.variant.name, report::bytes(state_per_head(variant, longest)),
                                    report::grouped(variant.parameters)};
    for (const int64_t pairs : study.pairs) row.push_back(cell(variant, pairs, longest));
    table.rows.push_back(std::move(row));
  }
  return table;
}

report::Table by_length_table(const RecallStudy& study) {
  report::Table table;
  table.columns = {{"memory"}};
  for (const int64_t length : study.lengths) table.columns.push_back({length_title(study, length), true});
  for (const RecallVariant& variant : study.variants) {
    std::vector<std::string> row = {variant.variant.name};
    for (const int64_t length : study.lengths) row.push_back(cell(variant, study.at_pairs, length));
    table.rows.push_back(std::move(row));
  }
  return table;
}

report::Table all_scores_table(const RecallStudy& study) {
  report::Table table;
  table.columns = {{"memory"}, {study.copy ? "distance" : "n", true}};
  for (const int64_t pairs : study.pairs) table.columns.push_back({str_cat("K = ", pairs), true});
  for (const RecallVariant& variant : study.variants)
    for (const int64_t length : study.lengths) {
      std::vector<std::string> row = {variant.variant.name, report::length_label(length)};
      for (const int64_t pairs : study.pairs) row.push_back(cell(variant, pairs, length));
      table.rows.push_back(std::move(row));
    }
  return table;
}

report::Table training_table(const RecallStudy& study) {
  report::Table table;
  table.columns = {{"memory"},         {"seed", true},           {"parameters", true}, {"rows like training", true},
                   {"training", true}, {"all of the cell", true}};
  for (const RecallVariant& variant : study.variants)
    for (const RecallRun& run : variant.runs)
      table.rows.push_back({variant.variant.name, std::to_string(run.seed), report::grouped(variant.parameters),
                            report::fixed(run.validation, 3), report::duration(run.train_seconds),
                            report::duration(run.seconds)});
  return table;
}

Json to_json(const RecallStudy& study) {
  Json variants = Json::array();
  for (const RecallVariant& variant : study.variants) {
    Json means = Json::array(), runs = Json::array();
    for (const int64_t length : study.lengths)
      for (const int64_t pairs : study.pairs)
        if (const auto score = mean_score(variant, pairs, length))
          means.push_back({{"pairs", pairs},
                           {"length", length},
                           {"accuracy", score->mean},
                           {"standard_error", score->error},
                           {"seeds", score->seeds}});
    for (const RecallRun& run : variant.runs) runs.push_back(to_json(run));
    variants.push_back({{"name", variant.variant.name},
                        {"attention", variant.variant.attention},
                        {"settings", variant.variant.settings},
                        {"parameters", variant.parameters},
                        {"heads", variant.heads},
                        {"state_bytes", state_json(variant)},
                        {"search", search_json(variant, "loss")},
                        {"chosen", variant.chosen},
                        {"means", means},
                        {"runs", runs}});
  }
  return {{"study", "recall"},
          {"title", study.title},
          {"command", study.conditions.command_line},
          {"recipe", study.conditions.recipe},
          {"frontier", {{"pairs", study.at_pairs}, {"length", study.at_length}}},
          {"chance", study.chance},
          {"variants", variants},
          {"machine", longspan::tool::to_json(study.conditions.environment)},
          {"seconds", study.conditions.seconds}};
}

std::string to_csv(const RecallStudy& study) {
  std::string text =
      "memory,attention,chosen,seed,pairs,length,accuracy,standard_error,questions,parameters,state_bytes_per_head\n";
  for (const RecallVariant& variant : study.variants)
    for (const RecallRun& run : variant.runs)
      for (const RecallScore& score : run.scores)
        text += str_cat(variant.variant.name, ",", variant.variant.attention, ",", variant.chosen, ",", run.seed, ",",
                        score.pairs, ",", score.length, ",", report::number(score.accuracy), ",",
                        report::number(score.standard_error), ",", score.questions, ",", variant.parameters, ",",
                        report::number(state_per_head(variant, score.length)), "\n");
  return text;
}

std::string to_markdown(const RecallStudy& study) {
  std::string text = str_cat("Accuracy at ", length_title(study, study.lengths.back()), ", ",
                             seeds_text(most_seeds(study.variants), "one seed ± standard error over rows"),
                             "; trained on rows of up to ", study.train_length, " tokens; chance ",
                             report::fixed(study.chance, 3), ":\n\n", report::to_markdown(by_pairs_table(study)));
  if (study.lengths.size() > 1)
    text += str_cat("\nThe same by length, K = ", study.at_pairs, ":\n\n", report::to_markdown(by_length_table(study)));
  if (const auto search = search_table(study.variants, "loss"); !search.rows.empty())
    text += str_cat("\nChosen on rows like those of training, first seed:\n\n", report::to_markdown(search));
  return text + str_cat("\n`", study.conditions.command_line, "`\n");
}

}  // namespace longspan::tool
