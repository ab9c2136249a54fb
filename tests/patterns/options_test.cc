#include "longspan/patterns/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "longspan/patterns/build.h"
#include "tests/io/scratch_folder.h"

namespace longspan::patterns {
namespace {

std::string refusal(const std::string& name, const FieldValues& values = {}) {
  return error_of([&] { pattern_options(name, values); });
}

TEST(PatternOptions, EveryNameBuildsAPattern) {
  const EdgeList edges = parse_edges("0 1\n", "some");
  for (const std::string& name : pattern_names())
    for (const int64_t n : {2, 3, 129}) {
      const PatternOptions options = pattern_options(name);
      const Pattern pattern = build_pattern(options, n, {.edges = name == "edges" ? &edges : nullptr});
      EXPECT_EQ(pattern.size(), padded_length(options, n)) << name;
      for (int64_t i = 0; i < n; ++i) EXPECT_TRUE(pattern.contains(i, i)) << name << " " << i;
    }
}

TEST(PatternOptions, PresetsAreThoseOfTheSpecification) {
  const PatternOptions reference = pattern_options("reference"), table = pattern_options("table_s1");
  EXPECT_EQ(reference.pattern, "window_overlap+global+random");
  EXPECT_EQ(std::vector<int64_t>({reference.w, reference.r, reference.g, reference.max_len}),
            std::vector<int64_t>({64, 64, 64, 4096}));
  EXPECT_EQ(reference.random_mode, RandomMode::total);
  EXPECT_EQ(reference.fit, Fit::cut);
  EXPECT_EQ(padded_length(reference, 65), 128);
  EXPECT_EQ(padded_length(reference, 128), 128);
  EXPECT_EQ(padded_length(reference, 0), 0);
  EXPECT_EQ(std::vector<int64_t>({table.w, table.r, table.g}), std::vector<int64_t>({64, 128, 128}));
  EXPECT_EQ(table.fit, Fit::exact);
  EXPECT_EQ(padded_length(table, 65), 65);
  EXPECT_EQ(pattern_options("table_s1", {{"r", int64_t{7}}}).r, 7);  // on top of what the preset says
}

TEST(PatternOptions, ValuesComeBack) {
  for (const std::string& name : pattern_names()) {
    const PatternOptions options = pattern_options(name);
    EXPECT_EQ(pattern_options(options.pattern, pattern_values(options)), options) << name;
  }
  const FieldValues values = pattern_values(pattern_options("window_band"));
  EXPECT_EQ(values.at("k"), FieldValue(int64_t{32}));
  EXPECT_EQ(values.at("w"), FieldValue());  // not used: null
}

TEST(PatternOptions, NamesAndFieldsThatNobodyKnows) {
  EXPECT_EQ(refusal("table_s2"), "pattern: unknown pattern 'table_s2'; did you mean 'table_s1'?");
  EXPECT_EQ(refusal("window_band+globl"), "pattern: unknown pattern 'globl'; did you mean 'global'?");
  EXPECT_THAT(refusal("xyzzyxyzzy"),
              testing::StartsWith("pattern: unknown pattern 'xyzzyxyzzy'; known: reference tab"));
  EXPECT_NE(refusal("").find("unknown pattern ''"), std::string::npos);
  EXPECT_NE(refusal("global+").find("unknown pattern ''"), std::string::npos);
  EXPECT_EQ(refusal("global+global"), "pattern: 'global' stands twice in 'global+global'");
  EXPECT_EQ(refusal("table_s1+global"), "pattern: 'table_s1' in 'table_s1+global' is a preset, which has no union");
  EXPECT_THAT(refusal("window_band", {{"windw", int64_t{3}}}),
              testing::StartsWith("pattern: unknown field 'windw'; known fields: w k b "));
  EXPECT_EQ(refusal("window_band", {{"r", int64_t{3}}}),
            "pattern: window_band does not use r; its fields: k, self_loops, causal, fit, max_len, pad_to_window");
  EXPECT_EQ(refusal("window_band", {{"r", FieldValue()}}), "");  // null is not set
}

TEST(PatternOptions, ValuesThatCannotBe) {
  EXPECT_EQ(refusal("window_overlap", {{"w", int64_t{7}}}), "pattern: w must be even, got 7");
  EXPECT_EQ(refusal("longformer", {{"w", int64_t{7}}}), "pattern: w must be even, got 7");
  EXPECT_EQ(refusal("window_overlap", {{"w", int64_t{0}}}),
            "pattern: w must be an integer from 2 to 2147483647, got 0");
  EXPECT_EQ(refusal("random", {{"r", int64_t{-1}}}), "pattern: r must be an integer from 0 to 2147483647, got -1");
  EXPECT_EQ(refusal("random", {{"random_mode", "some"}}),
            "pattern: random_mode must be one of per_row, total, got some");
  EXPECT_EQ(refusal("fixed", {{"l", int64_t{4}}}), "pattern: c must be at most l = 4, got 8");
  EXPECT_EQ(refusal("window_band", {{"pad_to_window", true}}),
            "pattern: pad_to_window needs a window of width w, which window_band has not");
  EXPECT_EQ(refusal("global", {{"global_tokens", "1"}}), "pattern: global_tokens needs global_choice=list");
  for (const std::string tokens : {"1,", ",", "a", "-1", "1 2", "1.5", "99999999999999999999"})
    EXPECT_EQ(refusal("global", {{"global_choice", "list"}, {"global_tokens", tokens}}),
              "pattern: global_tokens must be positions with commas between, got '" + tokens + "'");
}

TEST(PatternOptions, WhatDependsOnTheLengthIsNamed) {
  const auto reason = [](const std::string& name, FieldValues values = {}) {
    values["causal"] = true;
    return length_dependence(pattern_options(name, values));
  };
  EXPECT_NE(length_dependence(pattern_options("window_band")).find("not causal"), std::string::npos);
  EXPECT_NE(reason("table_s1").find("total"), std::string::npos);
  EXPECT_NE(reason("uniform").find("uniform"), std::string::npos);
  EXPECT_NE(reason("bigbird").find("bigbird"), std::string::npos);
  EXPECT_NE(reason("window_band", {{"fit", "cut"}}).find("fit=cut"), std::string::npos);
  EXPECT_NE(reason("edges").find("edges"), std::string::npos);
  EXPECT_EQ(reason("window_overlap+global+random"), "");
}

}  // namespace
}  // namespace longspan::patterns
