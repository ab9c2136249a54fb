// The properties of every registered attention.
#include <gtest/gtest.h>

#include "subjects.h"

namespace longspan::testing {
namespace {

class Small : public ::testing::TestWithParam<RegisteredSubject> {};

TEST_P(Small, Holds) {
  for (const auto& result : check_properties(GetParam().subject())) EXPECT_TRUE(result.passed) << result.text();
}

INSTANTIATE_TEST_SUITE_P(Properties, Small, ::testing::ValuesIn(registered_subjects()),
                         [](const auto& info) { return info.param.test_name(); });

// Shorter than every window, chunk and tile.
TEST_P(Small, HoldsForTwoTokens) {
  PropertyOptions options;
  options.length = 2;
  options.source_length = 1;
  for (const auto& result : check_properties(GetParam().subject(), options)) EXPECT_TRUE(result.passed) << result.text();
}

class AboveTheGrain : public ::testing::TestWithParam<RegisteredSubject> {};

// Long enough that kernels cut a head into several tasks and read several chunks.
TEST_P(AboveTheGrain, Holds) {
  PropertyOptions options;
  options.batch = 2;
  options.length = 1300;
  options.source_length = 1100;
  for (const auto& result : check_properties(GetParam().subject(), options)) EXPECT_TRUE(result.passed) << result.text();
}

INSTANTIATE_TEST_SUITE_P(Properties, AboveTheGrain, ::testing::ValuesIn(registered_subjects(true)),
                         [](const auto& info) { return info.param.test_name(); });

class OneHead : public ::testing::TestWithParam<RegisteredSubject> {};

// One head of one sequence on two threads: kernels that cut along the sequence do so here.
TEST_P(OneHead, Holds) {
  PropertyOptions options;
  options.batch = 1;
  options.length = 4200;
  options.source_length = 4300;
  for (const char* property : {"prefix", "split", "threads"}) {
    const auto result = check_property(property, GetParam().subject(), options);
    EXPECT_TRUE(result.passed) << result.text();
  }
}

INSTANTIATE_TEST_SUITE_P(Properties, OneHead, ::testing::ValuesIn(registered_subjects(true, {.width = 8, .heads = 1})),
                         [](const auto& info) { return info.param.test_name(); });

// Every pattern that an entry lists can be built with its defaults, and no other.
TEST(Registry, PatternsAreTrue) {
  for (const auto& entry : nn::attentions()) {
    EXPECT_FALSE(entry.harness_configurations.empty()) << entry.name;
    for (const auto pattern : {nn::Pattern::noncausal_self, nn::Pattern::causal_self, nn::Pattern::noncausal_cross, nn::Pattern::causal_cross}) {
      const bool listed = std::find(entry.patterns.begin(), entry.patterns.end(), pattern) != entry.patterns.end();
      if (listed) {
        EXPECT_NO_THROW(nn::make_attention(entry.name, pattern, {.width = 128, .heads = 2})) << entry.name;
      } else {
        EXPECT_THROW(nn::make_attention(entry.name, pattern, {.width = 128, .heads = 2}), InputError) << entry.name;
      }
    }
  }
}

}  // namespace
}  // namespace longspan::testing
