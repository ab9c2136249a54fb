// What studies make of their numbers, without running them.
#include <gtest/gtest.h>

#include <cmath>

#include "longspan/base/check.h"
#include "tests/io/scratch_folder.h"
#include "tools/longspan/study/cells.h"
#include "tools/longspan/study/recall_page.h"
#include "tools/longspan/study/recall_presets.h"
#include "tools/longspan/study/text_page.h"

namespace longspan::tool {
namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

RecallVariant variant(const std::string& name, const std::string& group, double bytes,
                      const std::vector<double>& accuracies) {
  RecallVariant out{{{name, group, group}, 1000, {{256, bytes * 8}, {4096, bytes * 8}}}, 8};
  int64_t seed = 0;
  for (const double accuracy : accuracies)
    out.runs.push_back(
        {seed++, accuracy, 1, 10, 12, {{16, 256, 500, 1, 0}, {16, 4096, 500, accuracy, 0.01}}, {{1, 4}, {2, 1}}});
  return out;
}

RecallStudy study() {
  RecallStudy s;
  s.title = "a study";
  s.conditions.command_line = "longspan study recall";
  s.variants = {variant("small", "delta", 1024, {0.5, 0.6, 0.7}), variant("large", "delta", 4096, {0.9, 0.9, 0.96}),
                variant("blind", "window", 128, {0.01, 0.02, 0.06})};
  s.panels = {{"all", "", {"small", "large", "blind"}}};
  s.pairs = {16};
  s.lengths = {256, 4096};
  s.at_pairs = 16;
  s.at_length = 4096;
  s.chance = 1.0 / 128;
  s.train_length = 256;
  s.conditions.recipe = {{"model", {{"layers", 2}, {"width", 128}}}, {"train", {{"steps", 400}}}};
  return s;
}

TEST(RecallStudyNumbers, ErrorsAreThoseOfTheMeanOverSeeds) {
  const auto score = mean_score(study().variants.front(), 16, 4096);
  ASSERT_TRUE(score);
  EXPECT_NEAR(score->mean, 0.6, 1e-12);
  EXPECT_NEAR(score->error, 0.1 / std::sqrt(3.0), 1e-12);
  EXPECT_EQ(score->seeds, 3);
  EXPECT_EQ(to_text(*score), "0.600 ± 0.058");
  // Of one seed: over rows.
  EXPECT_EQ(to_text(*mean_score(variant("a", "a", 1, {0.5}), 16, 4096)), "0.500 ± 0.010");
  EXPECT_FALSE(mean_score(study().variants.front(), 8, 4096));
}

TEST(RecallStudyNumbers, TheSentenceOrdersAndTellsWhoGuesses) {
  const std::string text = recall_sentence(study());
  EXPECT_TRUE(contains(text, "At K = 16, n = 4K: large 0.920 ± 0.020, small 0.600")) << text;
  EXPECT_TRUE(contains(text, "guessing one of the shown values gives: blind.")) << text;
}

TEST(RecallStudyNumbers, TheFrontierIsOneLineForAGroup) {
  RecallStudy s = study();
  s.variants.push_back(variant("ablated", "", 2048, {0.1}));
  ASSERT_EQ(frontier_charts(s).size(), 1U);
  const report::LineChart chart = frontier_charts(s).front();
  ASSERT_EQ(chart.series.size(), 2U);
  EXPECT_EQ(chart.series[0].name, "delta");
  ASSERT_EQ(chart.series[0].points.size(), 2U);
  EXPECT_EQ(chart.series[0].points[0].first, 1024);
  EXPECT_NEAR(chart.series[0].points[1].second, 0.92, 1e-12);
  EXPECT_EQ(chart.series[1].points.size(), 1U);
  for (int i = 0; i < report::kSeriesColours; ++i)
    s.variants.push_back(variant(str_cat("more", i), str_cat("more", i), 64, {0.5}));
  const auto charts = frontier_charts(s);
  ASSERT_EQ(charts.size(), 2U) << "no two lines of one colour";
  EXPECT_EQ(charts[0].series.size(), static_cast<std::size_t>(report::kSeriesColours));
  EXPECT_EQ(charts[1].series.size(), 2U);
}

TEST(RecallStudyNumbers, TablesAreWrittenForPagesAndPrograms) {
  const std::string markdown = to_markdown(study());
  EXPECT_TRUE(contains(markdown, "| large | 4.0 KiB | 1,000 | 0.920 ± 0.020 |")) << markdown;
  EXPECT_TRUE(contains(markdown, "mean ± standard error over 3 seeds")) << markdown;
  EXPECT_TRUE(contains(markdown, "`longspan study recall`")) << markdown;
  const std::string csv = to_csv(study());
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 1 + 9 * 2);
  EXPECT_TRUE(contains(csv, "small,delta,,1,16,4096,0.6,0.01,500,1000,1024")) << csv;
  EXPECT_TRUE(contains(recall_page(study()).html(), "bytes of state a head"));
}

TEST(RecallStudyNumbers, PresetsNameWhatTheyShow) {
  for (const std::string& name : recall_preset_names()) {
    const RecallPreset preset = recall_preset(name);
    EXPECT_NO_THROW(check_names(preset.variants));
    for (const StudyPanel& panel : preset.panels) {
      EXPECT_LE(panel.names.size(), static_cast<std::size_t>(report::kSeriesColours)) << panel.title;
      for (const std::string& shown : panel.names)
        EXPECT_TRUE(std::any_of(preset.variants.begin(), preset.variants.end(), [&](const StudyVariant& known) {
          return known.name == shown;
        })) << shown;
    }
  }
}

TEST(StudyVariants, AreReadFromText) {
  const StudyVariant found = parse_variant("my-1=lavo,r=32,model.width=64,train.steps=3");
  EXPECT_EQ(found, (StudyVariant{
                       "my-1", "lavo", "lavo", {"model.attention_options.r=32", "model.width=64", "train.steps=3"}}));
  EXPECT_EQ(parse_variant("a=local").settings.size(), 0U);
  for (const char* wrong : {"", "a", "a=", "=local", "a b=local", "../a=local", ".a=local", "a=local,", "a=local,w"})
    EXPECT_THROW(parse_variant(wrong), InputError) << wrong;
}

TEST(StudyVariants, ASearchIsEveryCombination) {
  const auto points = search_points(
      {parse_search("learning_rate=1e-3,4e-3"), parse_search("option.w=8"), parse_search("model.width=64,128")});
  ASSERT_EQ(points.size(), 4U);
  EXPECT_EQ(points[1].label, "learning_rate=1e-3 option.w=8 model.width=128");
  EXPECT_EQ(points[1].settings,
            (std::vector<std::string>{"train.learning_rate=1e-3", "model.attention_options.w=8", "model.width=128"}));
  EXPECT_EQ(search_points({}).size(), 1U);
  EXPECT_EQ(search_points({}).front().label, "");
}

class Cells : public ScratchFolder {};

TEST_F(Cells, AreDoneWhenTheirFileIsThere) {
  const CellFolder folder(path("study"), "recall");
  const StudyCell cell{"a.seed0", "a", {{"steps", 3}}, 3};
  EXPECT_FALSE(folder.finished(cell));
  folder.describe({cell});
  EXPECT_FALSE(folder.finished(cell));
  EXPECT_EQ(planned_cell(path("study"), "a.seed0").config, cell.config);
  EXPECT_EQ(planned_cell(path("study"), "a.seed0").kind, "recall");
  folder.save(cell.name, cell.config, {{"accuracy", 1}});
  ASSERT_TRUE(folder.finished(cell));
  EXPECT_EQ((*folder.finished(cell))["accuracy"], 1);
  StudyCell other = cell;
  other.config["steps"] = 4;
  EXPECT_TRUE(contains(error_of([&] { folder.finished(other); }), "another configuration"));
  EXPECT_TRUE(contains(error_of([&] { planned_cell(path("study"), "b.seed0"); }), "did you mean 'a.seed0'"));
  EXPECT_TRUE(contains(error_of([&] { planned_cell(path("nothing"), "a"); }), "study.json"));
  // Later cells join those that are there.
  folder.describe({StudyCell{"b.seed0", "b", {{"steps", 5}}, 5}});
  EXPECT_EQ(planned_cell(path("study"), "a.seed0").config, cell.config);
}

TextStudy text_study() {
  TextStudy s;
  s.lengths = {1024, 65536};
  s.blocks = 4;
  const auto add = [&](const std::string& name, const std::string& baseline, int64_t parameters,
                       const std::vector<double>& bits, int64_t last_blocks) {
    TextVariant v{{{name, name, name}, parameters}, baseline, 512};
    int64_t seed = 0;
    for (const double b : bits)
      v.runs.push_back({seed++,
                        100,
                        b,
                        1,
                        2,
                        {{"one", 1024, 3, b}, {"two", 1024, 1, b + 0.4}, {"one", 65536, last_blocks, b}},
                        {{1, 8}}});
    s.variants.push_back(v);
  };
  add("window", "", 1000, {2.0, 2.2}, 2);
  add("memory", "window", 1005, {1.9, 2.0}, 2);
  add("all", "window", 1002, {2.1, 2.1}, 1);
  s.panels = {{"p", "", {"window", "memory", "all"}}};
  return s;
}

TEST(TextStudyNumbers, DifferencesAreTakenSeedBySeed) {
  const TextStudy s = text_study();
  EXPECT_NEAR(*bits_per_byte(s.variants[0].runs[0], 1024), 2.1, 1e-12) << "blocks count alike";
  EXPECT_NEAR(mean_bits(s.variants[0], 1024)->mean, 2.2, 1e-12);
  EXPECT_NEAR(mean_bits(s.variants[0], 1024)->error, 0.1, 1e-12);
  const auto change = difference(s, s.variants[1], 65536);
  ASSERT_TRUE(change);
  EXPECT_NEAR(change->mean, -0.15, 1e-12);
  EXPECT_NEAR(change->error, 0.05, 1e-12) << "less than the spread of either: the seeds go together";
  EXPECT_FALSE(difference(s, s.variants[2], 65536)) << "not on the same blocks";
  EXPECT_FALSE(difference(s, s.variants[0], 1024)) << "the baseline itself";
  EXPECT_NEAR(parameter_spread(s), 0.005, 1e-12);
  EXPECT_TRUE(contains(text_sentence(s), "memory stands -0.1500 ± 0.0500 from window.")) << text_sentence(s);
  EXPECT_TRUE(contains(to_markdown(s), "| memory | window | -0.1500 ± 0.0500 |")) << to_markdown(s);
  EXPECT_TRUE(contains(text_page(s).html(), "0.50 %"));
}

TEST(TextStudyNumbers, LinesJoinWhatWasMeasuredOnTheSameBlocks) {
  TextStudy s = text_study();
  s.variants[1].runs[0].scores.back().blocks = s.variants[1].runs[1].scores.back().blocks = s.blocks;
  const report::LineChart chart = length_chart(s, s.panels.front());
  ASSERT_EQ(chart.series.size(), 3U);
  EXPECT_EQ(chart.series[0].points.size(), 1U);
  ASSERT_EQ(chart.series[1].points.size(), 2U);
  EXPECT_EQ(chart.series[1].points[1].first, 65536);
  EXPECT_EQ(chart.series[2].points.size(), 1U);
}

}  // namespace
}  // namespace longspan::tool
