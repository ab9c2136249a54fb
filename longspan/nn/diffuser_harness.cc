#include "longspan/nn/diffuser_options.h"

namespace longspan::nn {

std::vector<FieldValues> diffuser_harness(Pattern pattern) {
  using std::string;
  const auto number = [](int64_t value) { return FieldValue(value); };
  std::vector<FieldValues> out = {
      {},
      {{"pattern", string("window_band")}, {"k", number(3)}, {"diffusion", string("single")}},
      {{"pattern", string("window_overlap+global")},
       {"w", number(4)},
       {"g", number(2)},
       {"global_choice", string("first")},
       {"diffusion", string("heat")},
       {"t", 1.5},
       {"hops", number(3)},
       {"backward", string("store_all")}},
      {{"pattern", string("window_overlap+global+random")},
       {"w", number(4)},
       {"g", number(3)},
       {"max_len", number(24)},
       {"r", number(2)},
       {"diffusion", string("learned")},
       {"hops", number(4)},
       {"hop_dropout", 0.2},
       {"edge_weights", string("recomputed")}},
      {{"pattern", string("longformer")},
       {"w", number(6)},
       {"g", number(2)},
       {"alpha", 0.3},
       {"learn_alpha", true},
       {"backward", string("recompute_quadratic")}},
      {{"pattern", string("fixed")}, {"l", number(6)}, {"c", number(2)}, {"diffusion", string("ppr_truncated")}},
      {{"pattern", string("strided")}, {"l", number(5)}, {"attn_dropout", 0.2}, {"dropout_mode", string("per_hop")}},
      {{"pattern", string("random")}, {"r", number(3)}, {"self_loops", false}, {"hops", number(2)}},
      {{"pattern", string("window_block+global")},
       {"b", number(5)},
       {"global_choice", string("list")},
       {"global_tokens", string("0,11")},
       {"seed_per_layer", true},
       {"attn_dropout", 0.1}},
      {{"pattern", string("full")}, {"hops", number(1)}},
  };
  if (pattern == Pattern::causal_self) return out;
  // Patterns that know the length.
  out.push_back({{"pattern", string("uniform+window_band")}, {"uniform_r", number(4)}, {"k", number(2)}});
  out.push_back({{"pattern", string("bigbird")}, {"b", number(4)}, {"bigbird_r", number(1)}});
  out.push_back({{"pattern", string("window_overlap+global+random")},
                 {"w", number(4)},
                 {"g", number(2)},
                 {"r", number(3)},
                 {"random_mode", string("total")},
                 {"pattern_seed", number(7)},
                 {"fit", string("cut")},
                 {"max_len", number(48)},
                 {"pad_to_window", true}});
  out.push_back({{"pattern", string("window_overlap+global")},
                 {"w", number(4)},
                 {"g", number(2)},
                 {"pad_to_window", true},
                 {"padding", string("remove")}});
  out.push_back({{"pattern", string("window_overlap+random")},
                 {"w", number(4)},
                 {"r", number(2)},
                 {"padding", string("reference")}});
  return out;
}

}  // namespace longspan::nn
