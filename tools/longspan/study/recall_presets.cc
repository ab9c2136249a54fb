#include "tools/longspan/study/recall_presets.h"

#include "longspan/base/check.h"

namespace longspan::tool {

namespace {

/// Every window is 16 wide, so that a question is never in the window of its answer.
constexpr const char* kWindow = "model.attention_options.w=16";

StudyVariant variant(std::string name, std::string group, std::string attention,
                     const std::vector<std::string>& options) {
  StudyVariant out{std::move(name), std::move(group), std::move(attention)};
  for (const std::string& option : options) out.settings.push_back(str_cat("model.attention_options.", option));
  return out;
}

StudyVariant windowed(std::string name, std::string group, std::string attention, std::vector<std::string> options) {
  StudyVariant out = variant(std::move(name), std::move(group), std::move(attention), options);
  out.settings.emplace_back(kWindow);
  return out;
}

StudyVariant selective(std::string name, std::string group, std::vector<std::string> options) {
  return windowed(std::move(name), std::move(group), "lavo_selective", std::move(options));
}

StudyVariant mean_memory() { return windowed("mean", "mean", "lavo", {"r=32"}); }
StudyVariant local() { return windowed("local", "local window", "local", {"positions=table"}); }
StudyVariant softmax() { return variant("softmax", "softmax", "softmax", {"rope=true"}); }

RecallPreset quick() {
  RecallPreset preset;
  preset.name = "quick";
  preset.title = "longspan study: recall, a first look";
  preset.variants = {selective("selective", "selective", {}), mean_memory(), local(), softmax()};
  preset.panels = {{"Four ways to remember", "", {"selective", "mean", "local", "softmax"}}};
  preset.pairs = "4,16,32";
  preset.lengths = "256,1024,4096";
  preset.questions = 256;
  return preset;
}

RecallPreset bar() {
  RecallPreset preset;
  preset.name = "bar";
  preset.title = "longspan study: recall of the selective memory";
  preset.variants = {selective("selective-32", "selective", {"r=32"})};
  preset.panels = {{"Selective memory, R = 32", "", {"selective-32"}}};
  preset.pairs = "16,32";
  preset.lengths = "4096";
  preset.questions = 2048;
  preset.seeds = 5;
  return preset;
}

RecallPreset question() {
  RecallPreset preset;
  preset.name = "question";
  preset.title = "longspan study: which memory at which state?";
  preset.pairs = "4,8,16,32,64";
  preset.lengths = "256,1024,4096";
  preset.seeds = 3;
  preset.variants = {
      softmax(),
      local(),
      mean_memory(),
      selective("delta-1", "gated delta", {"r=1"}),
      selective("delta-8", "gated delta", {"r=8"}),
      selective("delta-16", "gated delta", {"r=16"}),
      selective("delta-32", "gated delta", {"r=32"}),
      selective("delta-16-free", "gated delta, free", {"r=16", "addresses=free"}),
      selective("delta-32-free", "gated delta, free", {"r=32", "addresses=free"}),
      selective("delta-64-free", "gated delta, free", {"r=64", "addresses=free"}),
      selective("delta-16-softmax", "gated delta, softmax", {"r=16", "addresses=softmax"}),
      selective("delta-32-softmax", "gated delta, softmax", {"r=32", "addresses=softmax"}),
      selective("delta-64-softmax", "gated delta, softmax", {"r=64", "addresses=softmax"}),
      selective("delta-32-keeps", "gated delta", {"r=32", "decay=none"}),
      selective("gla-8", "gated linear", {"r=8", "delta=false", "decay=per_slot"}),
      selective("gla-16", "gated linear", {"r=16", "delta=false", "decay=per_slot"}),
      selective("gla-32", "gated linear", {"r=32", "delta=false", "decay=per_slot"}),
      selective("gla-32-scalar", "gated linear", {"r=32", "delta=false"}),
      selective("delta-32-plain", "gated delta", {"r=32", "conv=false"}),
      selective("gla-32-plain", "gated linear", {"r=32", "delta=false", "decay=per_slot", "conv=false"}),
      variant("delta-net", "delta_net", "delta_net", {}),
      variant("gated-delta-net", "gated_delta_net", "gated_delta_net", {}),
      variant("gla-layer", "gla", "gla", {}),
  };
  preset.panels = {
      {"Averages or vectors",
       "At the same 32 numbers a head LAVO keeps averages of 32 slots (mean) and the selective memory one vector "
       "(delta-1); with 32 vectors (delta-32) a head keeps 1,024 numbers. Softmax, which keeps every token, and the "
       "window alone are the yardsticks.",
       {"softmax", "delta-32", "delta-1", "mean", "local"}},
      {"How many slots",
       "A head is 32 wide. Orthonormal addresses are at most as many; free ones and softmax weights may be more.",
       {"delta-1", "delta-8", "delta-16", "delta-32", "delta-64-free", "delta-64-softmax"}},
      {"How slots are addressed",
       "Orthonormal rows, trained rows of any kind, or softmax weights, for fewer slots than the head is wide and for "
       "as many.",
       {"delta-16", "delta-16-free", "delta-16-softmax", "delta-32", "delta-32-free", "delta-32-softmax"}},
      {"How a slot is written",
       "The delta rule replaces what an address holds, with forgetting (delta-32) and without (delta-32-keeps); gated "
       "linear attention adds, and forgets slot by slot (gla-32) or all slots alike (gla-32-scalar).",
       {"delta-32", "delta-32-keeps", "gla-32", "gla-32-scalar", "gla-16", "gla-8"}},
      {"With and without the convolution",
       "Without it (plain) the key of a write is that of the value's own token, and a question shows only the key.",
       {"delta-32", "delta-32-plain", "gla-32", "gla-32-plain"}},
      {"Layers as published",
       "The same recurrences without a window and without addresses: keys of the head's own width, convolutions on "
       "queries, keys and values, an output gate.",
       {"delta-32", "gla-32", "delta-net", "gated-delta-net", "gla-layer"}},
  };
  return preset;
}

}  // namespace

std::vector<std::string> recall_preset_names() { return {"quick", "question", "bar"}; }

RecallPreset recall_preset(const std::string& name) {
  if (name == "quick") return quick();
  if (name == "question") return question();
  LONGSPAN_CHECK(name == "bar", "--preset: expected quick, question or bar, got '", name, "'");
  return bar();
}

}  // namespace longspan::tool
