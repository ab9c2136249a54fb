#include "longspan/train/estimate_probes.h"

#include <ATen/ops/randn.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "longspan/models/language_model.h"
#include "longspan/train/adamw.h"
#include "longspan/train/tensor_memory.h"
#include "longspan/train/train.h"

namespace longspan::train {

namespace {

double seconds_of(const std::function<void()>& call) {
  const auto start = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

models::ModelConfig with_layers(models::ModelConfig config, int64_t layers) {
  config.layers = layers;
  return config;
}

/// A step of it works off all rows at once.
TrainOptions probe_options(TrainOptions options, int64_t batch, int64_t length, bool recompute) {
  options.batch = batch;
  options.length = length;
  options.sequences = Sequences::windows;
  options.reset_at_documents = false;
  options.accumulation = 1;
  options.valid_every = 0;
  options.recompute = recompute ? Recompute::blocks : Recompute::none;
  return options;
}

}  // namespace

Measurements::Measurements(const models::ModelConfig& config, const TrainData& data, const TrainOptions& options,
                           bool recompute, const std::function<void()>& on_step)
    : config_(config), data_(data), options_(options), recompute_(recompute), on_step_(on_step) {}

Probe Measurements::memory(int64_t layers, int64_t batch, int64_t length) const {
  const TensorMemory memory;
  Trainer trainer(make_model(with_layers(config_, layers), options_.seed), *data_.train, nullptr,
                  probe_options(options_, batch, length, recompute_));
  Probe out{layers, batch, length, INFINITY, 0, trainer.model().parameter_count()};
  for (int64_t i = 0; i < kMemorySteps; ++i) {
    if (on_step_) on_step_();
    out.seconds = std::min(out.seconds, trainer.step().seconds);
  }
  out.tensor_bytes = memory.peak();
  return out;
}

Measurements::StepTimes Measurements::times(int64_t batch, int64_t length) const {
  constexpr double kEnough = 20;  // seconds, with at least two rounds
  const TrainOptions options = probe_options(options_, batch, length, recompute_);
  Trainer one(make_model(with_layers(config_, 1), options_.seed), *data_.train, nullptr, options);
  Trainer two(make_model(with_layers(config_, 2), options_.seed), *data_.train, nullptr, options);
  std::vector<double> of_one, more;
  double spent = 0;
  for (int64_t i = 0; i < kRounds && (i < 2 || spent < kEnough); ++i) {
    if (on_step_) on_step_();
    const double first = one.step().seconds;
    if (on_step_) on_step_();
    const double second = two.step().seconds;
    of_one.push_back(first);
    more.push_back(second - first);
    spent += first + second;
  }
  return {median(of_one), std::max(0.0, median(more))};
}

double Measurements::optimizer_rate() const {
  const auto model = make_model(with_layers(config_, 1), options_.seed);
  AdamW optimizer(*model, options_);
  std::vector<double> times;
  for (int64_t step = 1; step <= 5; ++step) {
    for (auto& parameter : model->parameters()) parameter.mutable_grad() = at::zeros_like(parameter);
    times.push_back(seconds_of([&] { optimizer.step(step, 1e-6, optimizer.gradient_norm()); }));
  }
  return median(times) / static_cast<double>(model->parameter_count());
}

double Measurements::attention_rate(nn::Attention& attention, int64_t length) const {
  const int64_t head_width = config_.width / config_.heads, key_heads = attention.sizes().key_heads();
  const auto rows = [&](int64_t heads) { return at::randn({1, heads, length, head_width}).requires_grad_(); };
  const at::Tensor q = rows(config_.heads), k = rows(key_heads), v = rows(key_heads);
  std::vector<double> times;
  for (int i = 0; i < 3; ++i) {
    if (on_step_) on_step_();
    times.push_back(seconds_of([&] { attention.attend(q, k, v).sum().backward(); }));
  }
  return median(times) / (3 * attention.cost(length, length).flops);
}

}  // namespace longspan::train
