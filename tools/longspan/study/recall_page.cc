#include "tools/longspan/study/recall_page.h"

#include <algorithm>
#include <cmath>

#include "longspan/base/check.h"
#include "longspan/report/format.h"

namespace longspan::tool {

namespace {

const char* length_name(const RecallStudy& study) { return study.copy ? "distance D" : "n"; }

std::string place(const RecallStudy& study) {
  return str_cat(study.copy ? "" : str_cat("K = ", study.at_pairs, ", "),
                 study.copy ? "D = " : "n = ", report::length_label(study.at_length));
}

/// One standard error to either side, as far as an accuracy can be there.
report::Interval band(double x, const MeanScore& score) {
  return {x, std::max(score.mean - score.error, 0.0), std::min(score.mean + score.error, 1.0)};
}

/// A line of accuracies with a band of one standard error.
report::Series series_of(const RecallVariant& variant, const std::vector<std::pair<int64_t, int64_t>>& cells,
                         bool by_pairs) {
  report::Series series{variant.variant.name};
  for (const auto& [pairs, length] : cells)
    if (const auto score = mean_score(variant, pairs, length)) {
      const auto x = static_cast<double>(by_pairs ? pairs : length);
      series.points.emplace_back(x, score->mean);
      series.band.push_back(band(x, *score));
    }
  return series;
}

report::LineChart accuracy_chart(const RecallStudy& study) {
  report::LineChart chart;
  chart.y_label = "accuracy";
  chart.x_log = true;
  chart.y_from_zero = true;
  chart.y_marks = {{study.chance, "chance"}};
  return chart;
}

void add_panels(report::HtmlPage& page, const RecallStudy& study) {
  for (const StudyPanel& panel : study.panels) {
    page.heading(panel.title);
    if (!panel.about.empty()) page.paragraph(panel.about);
    for (const auto& names : charts_of(panel.names)) {
      std::vector<report::Panel> charts;
      if (study.pairs.size() > 1) charts.push_back({by_pairs_chart(study, names), ""});
      if (study.lengths.size() > 1) charts.push_back({by_length_chart(study, names), ""});
      if (charts.empty()) continue;
      charts.front().caption = "Bands: one standard error to either side.";
      page.charts(charts);
    }
  }
}

std::string error_sentence(const RecallStudy& study) {
  const std::size_t seeds = most_seeds(study.variants);
  return seeds > 1 ? str_cat("Mean and standard error over ", seeds, " seeds.")
                   : "One seed; the standard error is that of the rows it was measured on, and says nothing of other "
                     "seeds.";
}

}  // namespace

report::LineChart by_pairs_chart(const RecallStudy& study, const std::vector<std::string>& names) {
  report::LineChart chart = accuracy_chart(study);
  chart.title = str_cat("By pairs, ", length_name(study), " = ", report::length_label(study.lengths.back()));
  chart.x_label = "pairs K";
  chart.x_lengths = true;
  std::vector<std::pair<int64_t, int64_t>> cells;
  for (const int64_t pairs : study.pairs) cells.emplace_back(pairs, study.lengths.back());
  for (const std::string& name : names)
    if (const RecallVariant* variant = find_models(study.variants, name))
      chart.series.push_back(series_of(*variant, cells, true));
  return chart;
}

report::LineChart by_length_chart(const RecallStudy& study, const std::vector<std::string>& names) {
  report::LineChart chart = accuracy_chart(study);
  chart.title = study.copy ? "By distance" : str_cat("By length, K = ", study.at_pairs);
  chart.x_label = study.copy ? "tokens between the fact and the question" : "tokens n of a row";
  chart.x_lengths = true;
  std::vector<std::pair<int64_t, int64_t>> cells;
  for (const int64_t length : study.lengths) cells.emplace_back(study.at_pairs, length);
  for (const std::string& name : names)
    if (const RecallVariant* variant = find_models(study.variants, name))
      chart.series.push_back(series_of(*variant, cells, false));
  return chart;
}

report::LineChart frontier_chart(const RecallStudy& study, const std::vector<std::string>& groups) {
  report::LineChart chart = accuracy_chart(study);
  chart.title = str_cat("Accuracy by state, ", place(study));
  chart.x_label = "bytes of state a head";
  for (const std::string& group : groups) {
    report::Series series{group};
    std::vector<std::pair<double, MeanScore>> points;
    for (const RecallVariant& variant : study.variants)
      if (const auto score = mean_score(variant, study.at_pairs, study.at_length);
          score && variant.variant.group == group)
        points.emplace_back(state_per_head(variant, study.at_length), *score);
    std::sort(points.begin(), points.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [bytes, score] : points) {
      series.points.emplace_back(bytes, score.mean);
      series.band.push_back(band(bytes, score));
    }
    chart.series.push_back(std::move(series));
  }
  return chart;
}

std::vector<report::LineChart> frontier_charts(const RecallStudy& study) {
  std::vector<std::string> groups;
  for (const RecallVariant& variant : study.variants)
    if (const std::string& group = variant.variant.group;
        !group.empty() && std::find(groups.begin(), groups.end(), group) == groups.end())
      groups.push_back(group);
  std::vector<report::LineChart> charts;
  for (const auto& some : charts_of(groups)) charts.push_back(frontier_chart(study, some));
  return charts;
}

report::LineChart learning_chart(const RecallStudy& study, const std::vector<std::string>& names) {
  report::LineChart chart;
  chart.title = "Loss in training, first seed";
  chart.x_label = "steps";
  chart.y_label = "nats an answer";
  chart.y_from_zero = true;
  for (const std::string& name : names)
    if (const RecallVariant* variant = find_models(study.variants, name); variant && !variant->runs.empty())
      chart.series.push_back({name, variant->runs.front().curve});
  return chart;
}

std::string recall_sentence(const RecallStudy& study) {
  std::vector<std::pair<MeanScore, std::string>> found;
  std::string nothing;
  for (const RecallVariant& variant : study.variants) {
    const auto score = mean_score(variant, study.at_pairs, study.at_length);
    if (!score) continue;
    // One who knows which values were shown, but not where, is right once in K times.
    if (score->mean < 2 * std::max(study.chance, 1.0 / static_cast<double>(study.at_pairs)) && !study.copy)
      nothing += (nothing.empty() ? "" : ", ") + variant.variant.name;
    else
      found.emplace_back(*score, variant.variant.name);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first.mean > b.first.mean; });
  std::string text;
  for (const auto& [score, name] : found) text += str_cat(text.empty() ? "" : ", ", name, " ", to_text(score));
  if (!text.empty()) text = str_cat("At ", place(study), ": ", text, ".");
  if (!nothing.empty())
    text +=
        str_cat(text.empty() ? "" : " ", "Less than twice what guessing one of the shown values gives: ", nothing, ".");
  return text;
}

report::HtmlPage recall_page(const RecallStudy& study) {
  report::HtmlPage page(study.title);
  page.lead(recall_sentence(study));
  page.paragraph(str_cat(
      study.copy
          ? "A fact of several values stands at the beginning of a row and is asked for D tokens later. "
          : "Pairs of a key and a value stand at the beginning of a row; at its end keys are shown again, and the "
            "next token must be the key's value. ",
      "Models of ", study.conditions.recipe.at("model").at("layers").dump(), " layers of width ",
      study.conditions.recipe["model"].at("width").dump(), ", trained alike on rows of up to ", study.train_length,
      " tokens, are measured on longer ones too. Right is the answer whose most likely token is the right one, out of "
      "the whole vocabulary; chance is ",
      report::fixed(study.chance, 4), "."));
  page.heading("What is given back");
  page.table(by_pairs_table(study),
             str_cat("Accuracy at ", length_name(study), " = ", report::length_label(study.lengths.back()),
                     ", the longest measured. ", error_sentence(study),
                     " State: what a head keeps of a stream behind so many tokens, the window's included."));
  if (study.lengths.size() > 1)
    page.table(by_length_table(study),
               study.copy ? "By distance." : str_cat("By length, K = ", study.at_pairs, " pairs."));
  page.heading("Accuracy for its state");
  for (const report::LineChart& chart : frontier_charts(study))
    page.chart(chart, str_cat("Upper left is better. ", error_sentence(study)));
  add_panels(page, study);
  page.heading("Training");
  std::vector<std::string> names;
  for (const RecallVariant& variant : study.variants) names.push_back(variant.variant.name);
  std::vector<report::Panel> curves;
  for (const auto& some : charts_of(names)) curves.push_back({learning_chart(study, some), ""});
  if (!curves.empty()) curves.front().caption = "The rows of each stage of training are twice as long as those before.";
  page.charts(curves);
  page.folded("Every model", training_table(study));
  if (const auto search = search_table(study.variants, "loss"); !search.rows.empty())
    page.table(
        search,
        "What was tried for each memory, with the first seed, on rows like those that training ends with: none of "
        "the rows above.");
  page.folded("Every K and " + std::string(study.copy ? "distance" : "n"), all_scores_table(study));
  add_conditions(page, study.conditions);
  return page;
}

}  // namespace longspan::tool
