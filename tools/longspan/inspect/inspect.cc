#include "inspect.h"

namespace longspan::tool {

const std::vector<Subcommand>& inspect_subjects() {
  static const std::vector<Subcommand> table = {
      {"attentions", "the registry: patterns, backends, options with defaults and ranges", set_up_inspect_attentions,
       kJson},
      {"config", "every field of a configuration with its default, its range and what it means", set_up_inspect_config,
       kJson},
      {"contraction", "how much the attention matrices of a trained model draw their rows together on a text",
       set_up_inspect_contraction, kJson | kQuiet | kThreads},
      {"lavo", "what the memory of a trained model does with a text", set_up_inspect_lavo,
       kJson | kQuiet | kThreads | kDevice},
      {"pattern", "a sparse pattern: pairs, degrees, components, pieces, and a picture", set_up_inspect_pattern,
       kJson | kQuiet | kThreads | kSeed},
      {"rolling", "how much the output of an attention or a model changes when the text is rolled round",
       set_up_inspect_rolling, kJson | kQuiet | kThreads | kSeed},
      {"spectrum", "how well the graph of a pattern is connected: eigenvalues, mixing, reach, responses",
       set_up_inspect_spectrum, kJson | kQuiet | kThreads | kSeed},
      {"tradeoff", "pairs against connection against time of several patterns, with their eigenvalues",
       set_up_inspect_tradeoff, kJson | kQuiet | kThreads | kSeed | kDtype},
  };
  return table;
}

}  // namespace longspan::tool
