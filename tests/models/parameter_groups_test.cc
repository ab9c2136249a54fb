// Which parameters decay, over every attention and every setting of its options.
#include <gtest/gtest.h>

#include <set>

#include "longspan/nn/registry.h"
#include "tests/models/small_models.h"

namespace longspan::models {
namespace {

/// Matrices that multiply rows of the residual stream (or, forget.weight of gla, what one of them gave), and tables of
/// one row a token.
bool may_decay(const std::string& name) {
  static const std::set<std::string> matrices = {"q.weight",         "k.weight",        "v.weight",    "memory.weight",
                                                 "memory_q.weight",  "memory_k.weight", "out.weight",  "gate.weight",
                                                 "up.weight",        "down.weight",     "beta.weight", "forget.weight",
                                                 "forget_in.weight", "embedding",       "head"};
  const std::size_t last = name.rfind('.');
  const std::size_t before = last == std::string::npos ? last : name.rfind('.', last - 1);
  return matrices.contains(before == std::string::npos ? name : name.substr(before + 1));
}

TEST(ParameterGroups, OnlyMatricesDecayWhateverTheOptions) {
  for (const auto& entry : nn::attentions()) {
    for (const FieldValues& options : nn::harness_configurations(entry, nn::Pattern::causal_self)) {
      for (const Shape shape : {Shape::gpt2, Shape::llama}) {
        ModelConfig config = small_config("softmax", shape);
        config.attention = entry.name;
        config.attention_options = options;
        config.layers = 1;
        config.tied = shape == Shape::gpt2;
        config.positions = shape == Shape::gpt2 ? Positions::learned : Positions::none;
        const LanguageModel model(config);
        std::size_t count = 0;
        for (const auto& group : model.parameter_groups(10)) {
          for (const auto& [name, parameter] : group.parameters) {
            EXPECT_EQ(group.weight_decay, may_decay(name))
                << entry.name << " " << longspan::to_json(options).dump() << ": " << name << " is in " << group.name;
            EXPECT_EQ(group.lr_factor != 1, name.ends_with("position_table")) << name;
            ++count;
          }
        }
        std::size_t trained = 0;
        for (const auto& parameter : model.parameters()) trained += parameter.requires_grad() ? 1 : 0;
        EXPECT_EQ(count, trained) << entry.name << ": every parameter is in one group";
      }
    }
  }
}

}  // namespace
}  // namespace longspan::models
