#include "plan.h"

#include <algorithm>

#include "longspan/base/check.h"
#include "tools/longspan/matched_parameters.h"

namespace longspan::tool {

namespace {

void drop_beyond(std::vector<int64_t>& lengths, int64_t longest) {
  std::erase_if(lengths, [&](int64_t length) { return length > longest; });
}

}  // namespace

DemoPlan make_demo_plan(bool full, int64_t steps, int64_t longest) {
  DemoPlan plan;
  plan.full = full;
  plan.train.steps = steps > 0 ? steps : full ? 1500 : 700;
  plan.train.batch = 2;
  plan.train.length = 1024;
  // Softmax with RoPE gains from a long warm-up (150 steps: 2.22 bits per byte, 50: 2.30); the others do not mind it.
  plan.train.warmup = std::min<int64_t>(150, plan.train.steps);
  if (full) plan.seeds = {0, 1, 2};

  models::ModelConfig base;
  base.layers = 4;
  base.width = full ? 256 : 128;
  base.heads = 4;
  base.feed_forward = 4 * base.width;
  const int64_t head_dim = base.width / base.heads, window = head_dim;

  models::ModelConfig lavo = base, local = base, softmax = base;
  lavo.attention = "lavo";
  lavo.attention_options = {{"r", head_dim}, {"w", window}};
  local.attention = "local";
  local.attention_options = {{"w", window}, {"positions", std::string("table")}};
  softmax.attention = "softmax";
  softmax.attention_options = {{"rope", true}};
  // LAVO's basis is made up for by a slightly wider feed-forward part of the other two.
  const int64_t parameters = count_parameters(lavo);
  local.feed_forward = matching_feed_forward(local, parameters);
  softmax.feed_forward = matching_feed_forward(softmax, parameters);
  plan.contenders = {{"lavo", "LAVO", lavo, 3e-3},
                     {"local", "local window", local, 3e-3},
                     {"softmax", "softmax + RoPE", softmax, 2e-3}};

  plan.lengths = {1024, 4096, 16384, 65536};
  plan.ablation_lengths = {1024, 16384};
  plan.training_speed_lengths = {16, 64, 256, 1024, 2048, 4096, 8192, 16384};
  plan.forward_speed_lengths = {16, 64, 256, 1024, 2048, 4096, 8192, 16384, 32768, 65536};
  plan.softmax_speed_limit = plan.softmax_stream_limit = full ? 65536 : 16384;
  plan.stream_lengths = {16, 64, 256, 1024, 4096, 16384, 65536};
  const int64_t recall_window = 16;
  plan.recall.contenders = {{"lavo_selective", "selective memory", {{"r", int64_t{32}}, {"w", recall_window}}},
                            {"lavo", "LAVO", {{"r", int64_t{32}}, {"w", recall_window}}},
                            {"local", "local window", {{"w", recall_window}, {"positions", std::string("table")}}},
                            {"softmax", "softmax + RoPE", {{"rope", true}}}};
  plan.recall.lengths = {256, 1024, 4096};
  plan.recall.steps = steps > 0 ? std::min<int64_t>(steps, plan.recall.steps) : plan.recall.steps;
  if (!full) plan.block_limits = {{{"softmax", 16384}, 8}, {{"softmax", 65536}, 2}};
  if (longest > 0) {
    LONGSPAN_CHECK(longest >= 1024, "--max-length: must be at least 1024, got ", longest);
    for (auto* lengths : {&plan.lengths, &plan.ablation_lengths, &plan.training_speed_lengths,
                          &plan.forward_speed_lengths, &plan.stream_lengths, &plan.recall.lengths})
      drop_beyond(*lengths, longest);
  }
  return plan;
}

}  // namespace longspan::tool
