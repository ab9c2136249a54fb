#include "longspan/train/estimate.h"

#include <ATen/ops/randn.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "longspan/data/window_sampler.h"
#include "longspan/models/blocks.h"
#include "longspan/models/language_model.h"
#include "longspan/nn/registry.h"
#include "longspan/train/adamw.h"
#include "longspan/train/memory.h"
#include "longspan/train/tensor_memory.h"
#include "longspan/train/train.h"

namespace longspan::train {

namespace {

/// Bytes of a parameter with two moments, of its gradient, and in a checkpoint (training.safetensors has the moments,
/// both files the weights).
constexpr double kHeldBytes = 12, kGradientBytes = 4, kCheckpointBytes = 16;
constexpr double kFloatBytes = 4;

double seconds_of(const std::function<void()>& call) {
  const auto start = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// The fastest of `repeats` calls after one to warm up: what else the machine does only adds to it.
double fastest(int repeats, const std::function<void()>& call) {
  call();
  double least = seconds_of(call);
  for (int i = 1; i < repeats; ++i) least = std::min(least, seconds_of(call));
  return least;
}

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

/// Seconds for each flop of the attention operator, forward and backward, at this length.
double attention_rate(const models::ModelConfig& config, nn::Attention& attention, int64_t length) {
  const int64_t head_width = config.width / config.heads, key_heads = attention.sizes().key_heads();
  const auto rows = [&](int64_t heads) { return at::randn({1, heads, length, head_width}).requires_grad_(); };
  const at::Tensor q = rows(config.heads), k = rows(key_heads), v = rows(key_heads);
  const double seconds = fastest(2, [&] { attention.attend(q, k, v).sum().backward(); });
  return seconds / (3 * attention.cost(length, length).flops);
}

class Estimation {
 public:
  Estimation(const models::ModelConfig& config, const TokenFile& train, const TrainOptions& options,
             const std::function<void()>& on_probe)
      : config_(config), train_(train), options_(options), on_probe_(on_probe) {}

  /// Whether the run itself recomputes: its probes do as it does.
  bool recomputed() const { return recomputes(options_.recompute, config_, tokens_at_once(options_)); }

  /// A step of `layers` layers on batch x length tokens.
  Probe probe(int64_t layers, int64_t batch, int64_t length) {
    if (on_probe_) on_probe_();
    models::ModelConfig config = config_;
    config.layers = layers;
    TrainOptions options = options_;
    options.batch = batch;
    options.length = length;
    // Memory and time of a token do not depend on what a row holds; parts are as large as a probe is.
    options.sequences = Sequences::windows;
    options.reset_at_documents = false;
    options.accumulation = 1;
    options.recompute = recomputed() ? Recompute::blocks : Recompute::none;
    const TensorMemory memory;
    Trainer trainer(make_model(config, options.seed), train_, nullptr, options);
    Probe out{layers, batch, length, 0, 0, trainer.model().parameter_count()};
    trainer.step();
    for (int i = 0; i < 2; ++i) {
      if (on_probe_) on_probe_();
      const double seconds = trainer.step().seconds;
      out.seconds = i == 0 ? seconds : std::min(out.seconds, seconds);
    }
    out.tensor_bytes = memory.peak();
    return out;
  }

  /// Seconds of the optimizer for each parameter.
  double optimizer_rate() const {
    models::ModelConfig config = config_;
    config.layers = 1;
    const auto model = make_model(config, options_.seed);
    AdamW optimizer(*model, options_);
    int64_t step = 0;
    double least = INFINITY;
    for (int i = 0; i < 3; ++i) {
      for (auto& parameter : model->parameters()) parameter.mutable_grad() = at::zeros_like(parameter);
      least = std::min(least, seconds_of([&] { optimizer.step(++step, 1e-6, optimizer.gradient_norm()); }));
    }
    return least / as_double(model->parameter_count());
  }

 private:
  const models::ModelConfig& config_;
  const TokenFile& train_;
  const TrainOptions& options_;
  const std::function<void()>& on_probe_;
};

/// Through (x0, y0) and (x1, y1), at x.
double line(double x0, double y0, double x1, double y1, double x) {
  return x1 == x0 ? y1 : y0 + (y1 - y0) * (x - x0) / (x1 - x0);
}

}  // namespace

Estimate estimate_run(const models::ModelConfig& config, const TokenFile& train, const TokenFile* valid,
                      const TrainOptions& options, const std::function<void()>& on_probe) {
  validate(options);
  models::validate(config);
  if (options.sequences == Sequences::windows) (void)WindowSampler(train, options.length, 0);  // long enough?
  LONGSPAN_CHECK(train.size() >= 2, train.path(), ": training needs at least 2 tokens, it holds ", train.size());

  // Enough tokens that what they hold outweighs the gradients of a layer, or memory would not tell tokens apart.
  const int64_t wanted = std::clamp<int64_t>(8 * config.width, 1024, 8192);
  const int64_t length = std::min({options.length, wanted, train.size() - 1});
  const int64_t batch = std::clamp<int64_t>(wanted / length, 1, options.batch);
  const bool by_batch = batch > 1;
  const int64_t half_length = by_batch ? length : std::max<int64_t>(1, length / 2),
                half_batch = by_batch ? batch / 2 : 1;
  const double tokens = as_double(batch * length), half = as_double(half_batch * half_length);
  const double all = as_double(options.batch) * as_double(options.length), layers = as_double(config.layers);
  const double at_once = as_double(tokens_at_once(options));

  Estimation estimation(config, train, options, on_probe);
  Estimate out;
  for (const bool whole : {false, true})
    for (const int64_t depth : {1, 2})
      out.probes.push_back(estimation.probe(depth, whole ? batch : half_batch, whole ? length : half_length));
  const Probe &half1 = out.probes[0], &half2 = out.probes[1], &one = out.probes[2], &two = out.probes[3];
  out.program_bytes = std::max(0.0, as_double(peak_resident_bytes() - two.tensor_bytes));

  // Memory. A layer adds its weights and moments and, at the worst moment, either what it keeps for the backward pass
  // (all layers', before that pass) or its gradients (all layers', after it); both where a step has several parts,
  // whose gradients are summed. A recomputed layer keeps its float32 input, less than a probe could tell from its
  // gradients.
  const double layer_parameters = as_double(two.parameters - one.parameters);
  out.parameters = one.parameters + (config.layers - 1) * (two.parameters - one.parameters);
  const double held = kHeldBytes * layer_parameters, gradients = kGradientBytes * layer_parameters;
  const double kept = estimation.recomputed()
                          ? kFloatBytes * as_double(config.width) * at_once
                          : line(half, as_double(half2.tensor_bytes - half1.tensor_bytes) - held, tokens,
                                 as_double(two.tensor_bytes - one.tensor_bytes) - held, at_once);
  const double first = line(half, as_double(half1.tensor_bytes), tokens, as_double(one.tensor_bytes), at_once);
  const bool in_parts = options.accumulation > 1;
  const double tensors = first + (in_parts ? kGradientBytes * as_double(one.parameters) : 0) +
                         (layers - 1) * (held + (in_parts ? kept + gradients : std::max(kept, gradients)));
  out.weight_bytes = kTrainedBytes * as_double(out.parameters);
  out.activation_bytes = std::max(0.0, tensors - out.weight_bytes);

  // Time. Everything but the optimizer goes with the tokens; an attention whose pairs grow faster than that pays for
  // the difference.
  const nn::AttentionPtr attention = attention_of(config);
  out.flops = flops_of(config, options.batch, options.length, *attention);
  const double optimizer = estimation.optimizer_rate();
  const auto for_token = [&](const Probe& probe) {
    return std::max(0.0, probe.seconds - optimizer * as_double(probe.parameters)) / tokens;
  };
  const double layer_seconds = std::max(0.0, for_token(two) - for_token(one));
  double in_step = all * (for_token(one) + (layers - 1) * layer_seconds);
  const double more_pairs =
      out.flops.attention - flops_of(config, 1, length, *attention).attention * all / as_double(length);
  if (more_pairs > 0) in_step += more_pairs * attention_rate(config, *attention, length);
  out.step_seconds = in_step + optimizer * as_double(out.parameters);

  const double validations =
      valid ? 1 + (options.valid_every > 0 ? as_double((options.steps - 1) / options.valid_every) : 0) : 0;
  const double valid_tokens =
      valid ? std::min(as_double(options.valid_blocks) * as_double(options.length), as_double(valid->size())) : 0;
  constexpr double kForwardPart = 1.0 / 3;
  out.run_seconds =
      as_double(options.steps) * out.step_seconds + validations * valid_tokens / all * in_step * kForwardPart;

  out.state_bytes = layers * attention->cost(options.length, options.length).state_bytes;
  out.checkpoint_bytes = kCheckpointBytes * as_double(out.parameters);
  // One more while it is written.
  out.disk_bytes = out.checkpoint_bytes * as_double(options.keep_last + (valid ? options.keep_best : 0) + 1);
  return out;
}

}  // namespace longspan::train
