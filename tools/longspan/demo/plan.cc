#include "plan.h"

#include <algorithm>
#include <cmath>

#include "longspan/base/check.h"
#include "longspan/models/language_model.h"

namespace longspan::tool {

namespace {

/// The inner width of the feed-forward part with which `config` has as nearly `parameters` as possible.
int64_t matching_feed_forward(models::ModelConfig config, int64_t parameters) {
  const int64_t at_config = count_parameters(config);
  ++config.feed_forward;
  const int64_t per_unit = count_parameters(config) - at_config;
  return config.feed_forward - 1 +
         std::llround(static_cast<double>(parameters - at_config) / static_cast<double>(per_unit));
}

void drop_beyond(std::vector<int64_t>& lengths, int64_t longest) {
  std::erase_if(lengths, [&](int64_t length) { return length > longest; });
}

}  // namespace

int64_t count_parameters(const models::ModelConfig& config) { return models::LanguageModel(config).parameter_count(); }

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
  if (!full) plan.block_limits = {{{"softmax", 16384}, 8}, {{"softmax", 65536}, 2}};
  if (longest > 0) {
    LONGSPAN_CHECK(longest >= 1024, "--max-length: must be at least 1024, got ", longest);
    for (auto* lengths : {&plan.lengths, &plan.ablation_lengths, &plan.training_speed_lengths,
                          &plan.forward_speed_lengths, &plan.stream_lengths})
      drop_beyond(*lengths, longest);
  }
  return plan;
}

}  // namespace longspan::tool
