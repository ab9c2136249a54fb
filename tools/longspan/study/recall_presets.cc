#include "tools/longspan/study/recall_presets.h"

#include "longspan/base/check.h"

namespace longspan::tool {

namespace {

/// Every window is 16 wide: two layers see 30 tokens back, so that at n = 1,024 no question sees its answer.
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

StudyVariant replaces(std::string name, std::string group, std::vector<std::string> options) {
  options.emplace_back("delta=true");
  return selective(std::move(name), std::move(group), std::move(options));
}

/// One slot, whose weight is always 1: D numbers a head that fade and are replaced by gates, whatever the address.
StudyVariant gated_scalars() {
  return replaces("scalars-32", "gated scalars", {"r=1", "addresses=softmax", "conv=false", "share_qk=true"});
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
  preset.seeds = 5;
  preset.variants = {
      softmax(),
      local(),
      mean_memory(),
      gated_scalars(),
      selective("add-1", "gated addition", {"r=1"}),
      selective("add-8", "gated addition", {"r=8"}),
      selective("add-16", "gated addition", {"r=16"}),
      selective("add-32", "gated addition", {"r=32"}),
      replaces("delta-8", "gated delta", {"r=8"}),
      replaces("delta-16", "gated delta", {"r=16"}),
      replaces("delta-32", "gated delta", {"r=32"}),
      selective("add-16-free", "free addresses", {"r=16", "addresses=free"}),
      selective("add-32-free", "free addresses", {"r=32", "addresses=free"}),
      selective("add-64-free", "free addresses", {"r=64", "addresses=free"}),
      selective("add-16-softmax", "softmax addresses", {"r=16", "addresses=softmax"}),
      selective("add-32-softmax", "softmax addresses", {"r=32", "addresses=softmax"}),
      selective("add-64-softmax", "softmax addresses", {"r=64", "addresses=softmax"}),
      // Something taken away or added, at the state that one above has or hardly more.
      selective("add-32-keeps", "", {"r=32", "decay=none"}),
      selective("add-32-slots", "", {"r=32", "decay=per_slot"}),
      selective("add-32-plain", "", {"r=32", "conv=false"}),
      replaces("delta-32-keeps", "", {"r=32", "decay=none"}),
      replaces("delta-32-slots", "", {"r=32", "decay=per_slot"}),
      replaces("delta-32-plain", "", {"r=32", "conv=false"}),
      variant("delta-net", "delta_net", "delta_net", {}),
      variant("gated-delta-net", "gated_delta_net", "gated_delta_net", {}),
      variant("gla-layer", "gla", "gla", {}),
  };
  preset.panels = {
      {"Averages or vectors",
       "At the same 32 numbers a head LAVO keeps averages of 32 slots (mean), gates make of them numbers that fade and "
       "are replaced (scalars-32), and the selective memory keeps one vector under an address (add-1); with 32 vectors "
       "(add-32) a head keeps 1,024 numbers. The window alone and softmax, which keeps every token but must learn in "
       "the same steps to find one, stand beside them.",
       {"softmax", "add-32", "add-1", "scalars-32", "mean", "local"}},
      {"How many slots",
       "A head is 32 wide. Orthonormal addresses are at most as many; free ones and softmax weights may be more.",
       {"add-1", "add-8", "add-16", "add-32", "add-64-free", "add-64-softmax"}},
      {"How slots are addressed",
       "Orthonormal rows, trained rows of any kind, or softmax weights, for fewer slots than the head is wide and for "
       "as many.",
       {"add-16", "add-16-free", "add-16-softmax", "add-32", "add-32-free", "add-32-softmax"}},
      {"Adding or replacing",
       "A write adds its value to what its address holds, or replaces it (delta rule).",
       {"add-8", "delta-8", "add-16", "delta-16", "add-32", "delta-32"}},
      {"How a slot forgets",
       "All slots alike (add-32, delta-32), slot by slot as in gated linear attention (slots), or never of itself "
       "(keeps).",
       {"add-32", "add-32-slots", "add-32-keeps", "delta-32", "delta-32-slots", "delta-32-keeps"}},
      {"With and without the convolution",
       "Without it (plain) the key of a write is that of the value's own token, and a question shows only the key.",
       {"add-32", "add-32-plain", "delta-32", "delta-32-plain"}},
      {"Layers as published",
       "The same recurrences without a window and without addresses: keys of the head's own width, convolutions on "
       "queries, keys and values, an output gate.",
       {"add-32", "delta-32", "delta-net", "gated-delta-net", "gla-layer"}},
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
