// The properties of every registered attention.
#include <gtest/gtest.h>

#include "subjects.h"

namespace longspan::testing {
namespace {

/// The first configurations of the self patterns.
std::vector<RegisteredSubject> self_subjects(nn::AttentionSizes sizes) {
  auto out = registered_subjects(true, sizes);
  std::erase_if(out, [](const RegisteredSubject& subject) { return nn::is_cross(subject.pattern); });
  return out;
}

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
  for (const auto& result : check_properties(GetParam().subject(), options))
    EXPECT_TRUE(result.passed) << result.text();
}

// Fewer heads of keys and values than of queries, and rotary positions.
INSTANTIATE_TEST_SUITE_P(GroupedHeads, Small,
                         ::testing::ValuesIn(registered_subjects(true, {.width = 32, .heads = 2, .kv_heads = 1})),
                         [](const auto& info) { return info.param.test_name(); });
INSTANTIATE_TEST_SUITE_P(Rotary, Small,
                         ::testing::ValuesIn(self_subjects({.width = 32, .heads = 2, .rotary_base = 100})),
                         [](const auto& info) { return info.param.test_name(); });

// Bounds are wide, bits are bits.
INSTANTIATE_TEST_SUITE_P(Bfloat16, Small,
                         ::testing::ValuesIn(registered_subjects(false, {.width = 32, .heads = 2}, {at::kBFloat16})),
                         [](const auto& info) { return info.param.test_name(); });

class AboveTheGrain : public ::testing::TestWithParam<RegisteredSubject> {};

// Long enough that kernels cut a head into several tasks and read several chunks.
TEST_P(AboveTheGrain, Holds) {
  PropertyOptions options;
  options.batch = 2;
  options.length = 1300;
  options.source_length = 1100;
  for (const auto& result : check_properties(GetParam().subject(), options))
    EXPECT_TRUE(result.passed) << result.text();
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
    for (const auto pattern : {nn::Pattern::noncausal_self, nn::Pattern::causal_self, nn::Pattern::noncausal_cross,
                               nn::Pattern::causal_cross}) {
      const bool listed = std::find(entry.patterns.begin(), entry.patterns.end(), pattern) != entry.patterns.end();
      if (listed) {
        EXPECT_FALSE(nn::harness_configurations(entry, pattern).empty()) << entry.name;
        EXPECT_NO_THROW(nn::make_attention(entry.name, pattern, {.width = 128, .heads = 2})) << entry.name;
      } else {
        EXPECT_THROW(nn::make_attention(entry.name, pattern, {.width = 128, .heads = 2}), InputError) << entry.name;
      }
    }
  }
}

}  // namespace
}  // namespace longspan::testing
