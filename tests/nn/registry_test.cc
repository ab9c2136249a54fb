#include "longspan/nn/registry.h"

#include <algorithm>
#include <map>
#include <set>

#include "support.h"

namespace longspan::nn {
namespace {

TEST(Registry, NamesTheNearestMethod) {
  expect_input_error([] { find_attention("lavvo"); },
                     "unknown attention 'lavvo'; did you mean 'lavo'? Known: lavo lavo_selective diffuser delta_net "
                     "gated_delta_net gla local softmax");
  expect_input_error(
      [] { find_attention("performer"); },
      "unknown attention 'performer'; known: lavo lavo_selective diffuser delta_net gated_delta_net gla local softmax");
}

TEST(Registry, NamesTheMethodsThatHaveAPattern) {
  expect_input_error(
      [] { make("local", Pattern::causal_cross); },
      "local: the pattern causal_cross is not supported; methods that have it: lavo, lavo_selective, softmax");
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

// What is larger than the projections of a layer is foretold, and nothing else is.
TEST(Registry, TablesAreTheParametersWhoseSizeFollowsFromOptions) {
  const AttentionSizes sizes{.width = 32, .heads = 4};
  for (const auto& entry : attentions())
    for (FieldValues configuration : harness_configurations(entry, Pattern::causal_self)) {
      for (const FieldInfo& field : entry.fields)
        if (field.name == "w") configuration["w"] = int64_t{600};
      AttentionPtr module;
      try {
        module = make(entry.name, Pattern::causal_self, configuration, sizes);
      } catch (const InputError&) {  // a method without a window here
        continue;
      }
      const auto tables = entry.tables(sizes, configuration);
      std::set<std::string> large;
      for (const auto& item : module->named_parameters())
        if (item.value().numel() > sizes.width * sizes.width) large.insert(item.key());
      for (const std::string& name : large) EXPECT_TRUE(tables.contains(name)) << entry.name << " " << name;
      const auto out = module->named_parameters()["out.weight"].numel();
      EXPECT_TRUE(tables.contains("out.weight") || out == sizes.width * sizes.width) << entry.name;
      if (!tables.contains("out.weight")) {
        EXPECT_EQ(large.size(), tables.size()) << entry.name;
      }
      for (const auto& [name, expected] : tables) {
        ASSERT_TRUE(module->named_parameters().contains(name)) << entry.name << " " << name;
        EXPECT_EQ(module->named_parameters()[name].sizes(), expected.sizes()) << entry.name << " " << name;
      }
    }
}

/// Settings that do not go together: tokens would see the rest of their window, or one makes the other idle.
bool excluded(Pattern pattern, const std::string& a, const std::string& b) {
  const auto either = [&](const std::string& x, const std::string& y) {
    return (a == x && b.starts_with(y)) || (b == x && a.starts_with(y));
  };
  if (either("memory_input=raw", "history_attention=block")) return true;
  if (pattern == Pattern::causal_self && (either("history_attention=block_bidirectional", "memory_update=token") ||
                                          either("empty_memory=local_only", "memory_update=token")))
    return true;
  for (const char* setting :
       {"basis_mode=frozen", "basis_mode=cayley", "basis_mode=householder", "basis_mode=soft", "basis_mode=free",
        "basis_sharing=s", "score_scale=inv", "score_scale=learned", "score_scale=constant", "memory_proj=key",
        "memory_proj=own", "memory_proj=input", "memory_input=raw", "history_attention=block", "memory_update=window",
        "empty_memory=local_only", "accumulator=float32"})
    if (either("combine=local", setting)) return true;
  return false;
}

// The harness sees LAVO in every two settings that go together.
TEST(Registry, LavoConfigurationsCoverAllPairs) {
  const AttentionEntry& lavo = find_attention("lavo");
  for (const Pattern pattern : lavo.patterns) {
    std::map<std::string, FieldValue> defaults;
    std::vector<std::pair<std::string, std::string>> settings;  // of all choices
    const auto unused = lavo.unused_fields(pattern);
    for (const FieldInfo& field : lavo.fields) {
      if (field.kind != FieldInfo::Kind::choice || std::find(unused.begin(), unused.end(), field.name) != unused.end())
        continue;
      defaults[field.name] = field.default_value;
      for (const std::string& choice : field.choices) settings.emplace_back(field.name, choice);
    }
    const auto configurations = harness_configurations(lavo, pattern);
    const auto holds = [&](const FieldValues& configuration, const std::pair<std::string, std::string>& setting) {
      const auto found = configuration.find(setting.first);
      const FieldValue& value = found == configuration.end() ? defaults.at(setting.first) : found->second;
      return value == FieldValue(setting.second);
    };
    for (const auto& a : settings)
      for (const auto& b : settings) {
        if (a.first >= b.first) continue;
        const std::string first = a.first + "=" + a.second, second = b.first + "=" + b.second;
        const bool met = std::any_of(configurations.begin(), configurations.end(),
                                     [&](const FieldValues& c) { return holds(c, a) && holds(c, b); });
        EXPECT_EQ(met, !excluded(pattern, first, second)) << to_string(pattern) << ": " << first << " " << second;
      }
  }
}

TEST(Registry, HarnessConfigurationsAreDistinctAndUsable) {
  const AttentionEntry& softmax = find_attention("softmax");
  EXPECT_EQ(harness_configurations(softmax, Pattern::causal_self).size(), 2u);
  EXPECT_EQ(harness_configurations(softmax, Pattern::causal_cross).size(), 1u) << "rope is dropped";
  EXPECT_TRUE(harness_configurations(find_attention("local"), Pattern::causal_cross).empty());
}

}  // namespace
}  // namespace longspan::nn
