#include "tools/longspan/study/text_results.h"

#include <algorithm>
#include <cmath>

#include "longspan/base/check.h"
#include "longspan/report/format.h"

namespace longspan::tool {

namespace {

std::string bits_text(const MeanScore& score) {
  std::string text = report::fixed(score.mean, 4);
  return score.seeds > 1 ? str_cat(text, " ± ", report::fixed(score.error, 4)) : text;
}

/// The table's columns for lengths.
report::Table by_length(const TextStudy& study) {
  report::Table table;
  table.columns = {{"memory"}};
  for (const int64_t length : study.lengths) table.columns.push_back({report::length_label(length), true});
  return table;
}

}  // namespace

int64_t blocks_at(const TextRun& run, int64_t length) {
  int64_t blocks = 0;
  for (const TextScore& score : run.scores) blocks += score.length == length ? score.blocks : 0;
  return blocks;
}

std::optional<double> bits_per_byte(const TextRun& run, int64_t length) {
  double sum = 0;
  int64_t blocks = 0;
  for (const TextScore& score : run.scores) {
    if (score.length != length) continue;
    sum += score.bits_per_byte * static_cast<double>(score.blocks);
    blocks += score.blocks;
  }
  if (blocks == 0) return std::nullopt;
  return sum / static_cast<double>(blocks);
}

std::optional<MeanScore> mean_bits(const TextVariant& variant, int64_t length) {
  std::vector<double> values;
  for (const TextRun& run : variant.runs)
    if (const auto bits = bits_per_byte(run, length)) values.push_back(*bits);
  if (values.empty()) return std::nullopt;
  return mean_of(values);
}

std::optional<MeanScore> difference(const TextStudy& study, const TextVariant& variant, int64_t length) {
  const TextVariant* baseline = find_models(study.variants, variant.baseline);
  if (!baseline) return std::nullopt;
  std::vector<double> values;
  for (std::size_t i = 0; i < std::min(variant.runs.size(), baseline->runs.size()); ++i) {
    if (blocks_at(variant.runs[i], length) != blocks_at(baseline->runs[i], length)) return std::nullopt;
    const auto own = bits_per_byte(variant.runs[i], length), other = bits_per_byte(baseline->runs[i], length);
    if (own && other) values.push_back(*own - *other);
  }
  if (values.empty()) return std::nullopt;
  return mean_of(values);
}

TextRun text_run(int64_t seed, const Json& result) {
  TextRun run;
  run.seed = seed;
  run.tokens = result.at("tokens").get<int64_t>();
  run.validation = result.at("validation_bits_per_byte").get<double>();
  run.train_seconds = result.at("train_seconds").get<double>();
  run.seconds = result.at("seconds").get<double>();
  for (const Json& score : result.at("scores"))
    run.scores.push_back({score.at("document").get<std::string>(), score.at("length").get<int64_t>(),
                          score.at("blocks").get<int64_t>(), score.at("bits_per_byte").get<double>()});
  run.curve = curve_points(result.at("curve"));
  return run;
}

report::Table bits_table(const TextStudy& study) {
  report::Table table = by_length(study);
  for (const TextVariant& variant : study.variants) {
    std::vector<std::string> row = {variant.variant.name};
    for (const int64_t length : study.lengths) {
      const auto bits = mean_bits(variant, length);
      row.push_back(bits ? bits_text(*bits) : "-");
      const int64_t blocks = variant.runs.empty() ? 0 : blocks_at(variant.runs.front(), length);
      if (bits && blocks != study.blocks) row.back() += str_cat(" on ", blocks, " blocks");
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

report::Table difference_table(const TextStudy& study) {
  report::Table table = by_length(study);
  table.columns.insert(table.columns.begin() + 1, {"against"});
  for (const TextVariant& variant : study.variants) {
    if (variant.baseline.empty()) continue;
    std::vector<std::string> row = {variant.variant.name, variant.baseline};
    for (const int64_t length : study.lengths) {
      const auto change = difference(study, variant, length);
      std::string text = change ? report::signed_fixed(change->mean, 4) : "-";
      if (change && change->seeds > 1) text += str_cat(" ± ", report::fixed(change->error, 4));
      row.push_back(text);
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

report::Table models_table(const TextStudy& study) {
  report::Table table;
  table.columns = {{"memory"},          {"parameters", true},        {"feed-forward width", true},
                   {"state", true},     {"tokens trained on", true}, {"training tokens/s", true},
                   {"validation", true}};
  for (const TextVariant& variant : study.variants) {
    if (variant.runs.empty()) continue;
    double tokens = 0, seconds = 0;
    std::vector<double> validation;
    for (const TextRun& run : variant.runs) {
      tokens += static_cast<double>(run.tokens);
      seconds += run.train_seconds;
      validation.push_back(run.validation);
    }
    table.rows.push_back({variant.variant.name, report::grouped(variant.parameters),
                          report::grouped(variant.feed_forward),
                          variant.state_bytes.empty() ? "-" : report::bytes(variant.state_bytes.rbegin()->second),
                          report::grouped(variant.runs.front().tokens),
                          report::grouped(static_cast<int64_t>(tokens / seconds)), bits_text(mean_of(validation))});
  }
  return table;
}

double parameter_spread(const TextStudy& study) {
  int64_t least = 0, most = 0;
  for (const TextVariant& variant : study.variants) {
    if (least == 0 || variant.parameters < least) least = variant.parameters;
    most = std::max(most, variant.parameters);
  }
  return least > 0 ? static_cast<double>(most - least) / static_cast<double>(least) : 0;
}

std::string text_sentence(const TextStudy& study) {
  if (study.lengths.empty()) return "";
  const int64_t length = study.lengths.back();
  std::string text;
  for (const TextVariant& variant : study.variants) {
    const auto change = difference(study, variant, length);
    if (!change) continue;
    text += str_cat(text.empty() ? "" : " ", variant.variant.name, " stands ", report::signed_fixed(change->mean, 4));
    if (change->seeds > 1) text += str_cat(" ± ", report::fixed(change->error, 4));
    text += str_cat(" from ", variant.baseline);
    // Two standard errors, of so few seeds, are no proof either.
    if (change->seeds > 1 && std::abs(change->mean) < 2 * change->error) text += " (no difference beyond its error)";
    text += ".";
  }
  return text.empty() ? ""
                      : str_cat("Bits per byte with ", report::length_label(length),
                                " tokens of context, less is "
                                "better: ",
                                text);
}

Json to_json(const TextStudy& study) {
  Json variants = Json::array(), documents = Json::array();
  for (const TextDocument& document : study.held_out)
    documents.push_back({{"name", document.name}, {"bytes", document.bytes}});
  for (const TextVariant& variant : study.variants) {
    Json means = Json::array(), runs = Json::array();
    for (const int64_t length : study.lengths)
      if (const auto bits = mean_bits(variant, length)) {
        Json mean = {
            {"length", length}, {"bits_per_byte", bits->mean}, {"standard_error", bits->error}, {"seeds", bits->seeds}};
        if (const auto change = difference(study, variant, length)) {
          mean["difference"] = change->mean;
          mean["difference_error"] = change->error;
        }
        means.push_back(std::move(mean));
      }
    for (const TextRun& run : variant.runs) {
      Json scores = Json::array();
      for (const TextScore& score : run.scores)
        scores.push_back({{"document", score.document},
                          {"length", score.length},
                          {"blocks", score.blocks},
                          {"bits_per_byte", score.bits_per_byte}});
      runs.push_back({{"seed", run.seed},
                      {"tokens", run.tokens},
                      {"validation_bits_per_byte", run.validation},
                      {"train_seconds", run.train_seconds},
                      {"seconds", run.seconds},
                      {"scores", scores}});
    }
    variants.push_back({{"name", variant.variant.name},
                        {"attention", variant.variant.attention},
                        {"settings", variant.variant.settings},
                        {"baseline", variant.baseline},
                        {"parameters", variant.parameters},
                        {"feed_forward", variant.feed_forward},
                        {"state_bytes", state_json(variant)},
                        {"search", search_json(variant, "bits_per_byte")},
                        {"chosen", variant.chosen},
                        {"means", means},
                        {"runs", runs}});
  }
  return {{"study", "text"},
          {"title", study.title},
          {"command", study.conditions.command_line},
          {"recipe", study.conditions.recipe},
          {"train_bytes", study.train_bytes},
          {"held_out", documents},
          {"parameter_spread", parameter_spread(study)},
          {"variants", variants},
          {"machine", longspan::tool::to_json(study.conditions.environment)},
          {"seconds", study.conditions.seconds}};
}

std::string to_csv(const TextStudy& study) {
  std::string text = "memory,attention,chosen,seed,document,length,bits_per_byte,blocks,parameters\n";
  for (const TextVariant& variant : study.variants)
    for (const TextRun& run : variant.runs)
      for (const TextScore& score : run.scores)
        text += str_cat(variant.variant.name, ",", variant.variant.attention, ",", variant.chosen, ",", run.seed, ",\"",
                        score.document, "\",", score.length, ",", report::number(score.bits_per_byte), ",",
                        score.blocks, ",", variant.parameters, "\n");
  return text;
}

std::string to_markdown(const TextStudy& study) {
  std::string text =
      str_cat("Bits per byte of held-out documents by tokens of context, ",
              seeds_text(most_seeds(study.variants), "one seed"), "; parameters agree within ",
              report::fixed(100 * parameter_spread(study), 2), " %:\n\n", report::to_markdown(bits_table(study)));
  const report::Table changes = difference_table(study);
  if (!changes.rows.empty())
    text += str_cat("\nDifference to the window alone, seed by seed:\n\n", report::to_markdown(changes));
  text += str_cat("\n", report::to_markdown(models_table(study)));
  if (const auto search = search_table(study.variants, "bits per byte"); !search.rows.empty())
    text += str_cat("\n", report::to_markdown(search));
  return text + str_cat("\n`", study.conditions.command_line, "`\n");
}

}  // namespace longspan::tool
