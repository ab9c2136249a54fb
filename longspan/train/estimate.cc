#include "longspan/train/estimate.h"

#include <algorithm>
#include <cmath>

#include "longspan/base/check.h"
#include "longspan/models/blocks.h"
#include "longspan/models/language_model.h"
#include "longspan/nn/registry.h"
#include "longspan/train/distributed.h"
#include "longspan/train/estimate_probes.h"
#include "longspan/train/memory.h"
#include "longspan/train/tensor_memory.h"
#include "longspan/train/train.h"

namespace longspan::train {

namespace {

/// Bytes of a parameter with two moments, of its gradient, and in a checkpoint (training.safetensors has the moments,
/// both files the weights).
constexpr double kHeldBytes = 12, kGradientBytes = 4, kCheckpointBytes = 16;
constexpr double kFloatBytes = 4;

double as_double(int64_t value) { return static_cast<double>(value); }

nn::AttentionPtr attention_of(const models::ModelConfig& config) {
  return nn::make_attention(config.attention, nn::Pattern::causal_self, models::block_options(config).sizes,
                            config.attention_options);
}

StepFlops flops_of(const models::ModelConfig& config, int64_t batch, int64_t length, const nn::Attention& attention) {
  constexpr double kPasses = 3;  // the backward pass is two forward passes' worth of products
  const double tokens = as_double(batch) * as_double(length), width = as_double(config.width);
  const double key_width =
      width * as_double(config.kv_heads > 0 ? config.kv_heads : config.heads) / as_double(config.heads);
  const double layers = as_double(config.layers);
  StepFlops out;
  out.projections = kPasses * layers * tokens * 2 * (2 * width * width + 2 * width * key_width);
  out.feed_forward = kPasses * layers * tokens * 2 * width * as_double(config.feed_forward) *
                     (config.shape == models::Shape::llama ? 3 : 2);
  out.head = kPasses * tokens * 2 * width * as_double(config.vocabulary);
  out.attention = kPasses * layers * as_double(batch) * attention.cost(length, length).flops;
  return out;
}

/// Bytes of the states that rows carry: those that the last step left and those of the step under way. A cache is
/// counted at its longest, at the end of a part.
double carried_bytes(const models::ModelConfig& config, const TrainOptions& options, const TokenFile& train,
                     int64_t rows, const nn::Attention& attention) {
  if (options.sequences != Sequences::carried) return 0;
  const int64_t part = (train.size() - 1) / options.batch, longest = part / options.length * options.length;
  return 2 * as_double(rows) * as_double(config.layers) * attention.cost(longest, longest).state_bytes;
}

/// Through (x0, y0) and (x1, y1), at x.
double line(double x0, double y0, double x1, double y1, double x) {
  return x1 == x0 ? y1 : y0 + (y1 - y0) * (x - x0) / (x1 - x0);
}

}  // namespace

Estimate estimate_run(const models::ModelConfig& config, const TrainData& data, const TrainOptions& options,
                      int64_t processes, const std::function<void()>& on_step) {
  validate(options, processes);
  models::validate(config);
  check_data(data, options, config);
  const TokenFile& train = *data.train;
  LONGSPAN_CHECK(train.size() >= 2, train.path(), ": training needs at least 2 tokens, it holds ", train.size());
  const Rows own = own_rows(options, 0, processes);
  {
    models::ModelConfig shallow = config;
    shallow.layers = 1;
    (void)make_step_reader(data, options, *make_model(shallow, options.seed), own);  // refuses as the run would
  }

  // Enough tokens that what they hold outweighs the gradients of a layer, or memory would not tell tokens apart.
  const int64_t wanted = std::clamp<int64_t>(8 * config.width, 1024, 8192);
  const int64_t length = std::min({options.length, wanted, train.size() - 1});
  const int64_t batch = std::clamp<int64_t>(wanted / length, 1, options.batch);
  const bool by_batch = batch > 1;
  const int64_t half_length = by_batch ? length : std::max<int64_t>(1, length / 2),
                half_batch = by_batch ? batch / 2 : 1;
  const double tokens = as_double(batch * length), half = as_double(half_batch * half_length);
  const double own_tokens = as_double(own.count) * as_double(options.length), layers = as_double(config.layers);
  const int64_t parts_tokens = tokens_at_once(options, processes);
  const double at_once = as_double(parts_tokens);
  const bool recompute = recomputes(options.recompute, config, parts_tokens);

  const Measurements measure(config, data, options, recompute, on_step);
  Estimate out;
  for (const bool whole : {false, true})
    for (const int64_t depth : {1, 2})
      out.probes.push_back(measure.memory(depth, whole ? batch : half_batch, whole ? length : half_length));
  const Probe &half1 = out.probes[0], &half2 = out.probes[1], &one = out.probes[2], &two = out.probes[3];
  out.program_bytes = std::max(0.0, as_double(peak_resident_bytes() - two.tensor_bytes));

  // Memory. A layer adds its weights and moments and, at the worst moment, either what it keeps for the backward pass
  // (all layers', before that pass) or its gradients (all layers', after it); both where a step has several parts,
  // whose gradients are summed. A recomputed layer keeps its float32 input, less than a probe could tell from its
  // gradients.
  const nn::AttentionPtr attention = attention_of(config);
  const double layer_parameters = as_double(two.parameters - one.parameters);
  out.parameters = one.parameters + (config.layers - 1) * (two.parameters - one.parameters);
  out.weight_bytes = kTrainedBytes * as_double(out.parameters);
  const double held = kHeldBytes * layer_parameters, gradients = kGradientBytes * layer_parameters;
  const double kept = recompute ? kFloatBytes * as_double(config.width) * at_once
                                : line(half, as_double(half2.tensor_bytes - half1.tensor_bytes) - held, tokens,
                                       as_double(two.tensor_bytes - one.tensor_bytes) - held, at_once);
  const double first = line(half, as_double(half1.tensor_bytes), tokens, as_double(one.tensor_bytes), at_once);
  const bool in_parts = options.accumulation > 1;
  const double in_pass = first + (in_parts ? kGradientBytes * as_double(one.parameters) : 0) +
                         (layers - 1) * (held + (in_parts ? kept + gradients : std::max(kept, gradients)));
  // Behind the backward pass: a piece of the gradients on its way, and what Gloo makes of it.
  const double in_exchange =
      processes > 1 ? out.weight_bytes + 2 * kFloatBytes * as_double(std::min(out.parameters, kExchanged)) : 0;
  const double tensors = std::max(in_pass, in_exchange) + carried_bytes(config, options, train, own.count, *attention);
  out.activation_bytes = std::max(0.0, tensors - out.weight_bytes);

  // Time. Everything but the optimizer goes with the tokens; an attention whose pairs grow faster than that pays for
  // the difference.
  out.flops = flops_of(config, options.batch, options.length, *attention);
  // On as many tokens as the run has at once, where they are few: what a step costs whatever its size counts there.
  constexpr int64_t kTimedTokens = 8192;
  const int64_t timed_length = std::min({options.length, kTimedTokens, train.size() - 1});
  const int64_t timed_batch = std::clamp<int64_t>(kTimedTokens / timed_length, 1, parts_tokens / options.length);
  const Measurements::StepTimes times = measure.times(timed_batch, timed_length);
  const double optimizer = measure.optimizer_rate();
  const auto for_token = [&](double seconds, double parameters) {
    return std::max(0.0, seconds - optimizer * parameters) / as_double(timed_batch * timed_length);
  };
  double in_step = own_tokens * (for_token(times.one, as_double(one.parameters)) +
                                 (layers - 1) * for_token(times.layer, layer_parameters));
  const double more_pairs =
      flops_of(config, own.count, options.length, *attention).attention -
      flops_of(config, 1, timed_length, *attention).attention * own_tokens / as_double(timed_length);
  if (more_pairs > 0) in_step += more_pairs * measure.attention_rate(*attention, length);
  out.step_seconds = in_step + optimizer * as_double(out.parameters);

  const double validations =
      data.valid ? 1 + (options.valid_every > 0 ? as_double((options.steps - 1) / options.valid_every) : 0) : 0;
  const double valid_tokens =
      data.valid ? std::min(as_double(options.valid_blocks) * as_double(options.length), as_double(data.valid->size()))
                 : 0;
  constexpr double kForwardPart = 1.0 / 3;
  out.run_seconds = as_double(options.steps) * out.step_seconds +
                    validations * valid_tokens / as_double(processes) / own_tokens * in_step * kForwardPart;

  out.state_bytes = layers * attention->cost(options.length, options.length).state_bytes;
  out.checkpoint_bytes = kCheckpointBytes * as_double(out.parameters);
  // One more while it is written.
  out.disk_bytes = out.checkpoint_bytes * as_double(options.keep_last + (data.valid ? options.keep_best : 0) + 1);
  return out;
}

}  // namespace longspan::train
