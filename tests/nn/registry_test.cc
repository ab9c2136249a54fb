#include "longspan/nn/registry.h"

#include "support.h"

namespace longspan::nn {
namespace {

TEST(Registry, NamesTheNearestMethod) {
  expect_input_error([] { find_attention("lavvo"); },
                     "unknown attention 'lavvo'; did you mean 'lavo'? Known: lavo local softmax");
  expect_input_error([] { find_attention("performer"); }, "unknown attention 'performer'; known: lavo local softmax");
}

TEST(Registry, NamesTheMethodsThatHaveAPattern) {
  expect_input_error([] { make("local", Pattern::causal_cross); },
                     "local: the pattern causal_cross is not supported; methods that have it: lavo, softmax");
}

TEST(Registry, RefusesUnknownAndBadOptions) {
  expect_input_error(
      [] {
        make("lavo", Pattern::causal_self, {{"rr", int64_t{4}}});
      },
      "lavo: unknown field 'rr'; did you mean 'r'?");
  expect_input_error(
      [] {
        make("local", Pattern::causal_self, {{"w", int64_t{0}}});
      },
      "local: w must be an integer from 1 to 1048576, got 0");
}

// A saved configuration rebuilds the same module.
TEST(Registry, OptionsAreComplete) {
  for (const auto& entry : attentions())
    for (const Pattern pattern : entry.patterns)
      for (const FieldValues& configuration : harness_configurations(entry, pattern)) {
        const auto module = make(entry.name, pattern, configuration, {.width = 32, .heads = 4});
        const FieldValues saved = module->options();
        EXPECT_EQ(saved.size(), entry.fields.size()) << entry.name;
        for (const std::string& name : entry.unused_fields(pattern))
          EXPECT_TRUE(std::holds_alternative<std::monostate>(saved.at(name))) << name;
        for (const auto& [name, value] : configuration) EXPECT_EQ(saved.at(name), value) << name;
        const auto again = make(entry.name, pattern, saved, {.width = 32, .heads = 4});
        EXPECT_EQ(again->options(), saved);
        const auto expected = module->named_parameters(), got = again->named_parameters();
        ASSERT_EQ(got.keys(), expected.keys());
        for (const std::string& key : got.keys()) EXPECT_TRUE(got[key].equal(expected[key])) << key;
      }
}

TEST(Registry, HarnessConfigurationsAreDistinctAndUsable) {
  const AttentionEntry& lavo = find_attention("lavo");
  EXPECT_EQ(harness_configurations(lavo, Pattern::causal_self).size(), lavo.harness_configurations.size());
  EXPECT_LT(harness_configurations(lavo, Pattern::causal_cross).size(), lavo.harness_configurations.size());
}

}  // namespace
}  // namespace longspan::nn
