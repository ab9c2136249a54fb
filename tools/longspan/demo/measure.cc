#include "measure.h"

#include <algorithm>
#include <functional>

#include "longspan/base/check.h"
#include "longspan/io/folder_lock.h"
#include "longspan/models/generate.h"
#include "longspan/nn/registry.h"
#include "longspan/report/format.h"
#include "longspan/train/evaluate.h"
#include "longspan/train/train.h"
#include "tools/longspan/interrupt.h"
#include "tools/longspan/operator_run.h"
#include "tools/longspan/progress.h"
#include "tools/longspan/timing.h"
#include "tools/longspan/train_display.h"

namespace longspan::tool {

namespace {

/// The display of `longspan train`, which also keeps the training curve.
class CurveObserver final : public train::TrainObserver {
 public:
  CurveObserver(TrainDisplay& display, int64_t steps, TrainingResult& result)
      : display_(display), every_(std::max<int64_t>(1, steps / 50)), result_(result) {}

  void on_step(const train::StepResult& step) override {
    display_.on_step(step);
    sum_ += display_.bits_per_byte(step.loss);
    if (++count_ < every_) return;
    result_.curve.emplace_back(static_cast<double>(display_.tokens()), sum_ / static_cast<double>(count_));
    sum_ = 0;
    count_ = 0;
  }
  bool should_stop() override { return display_.should_stop(); }

 private:
  TrainDisplay& display_;
  int64_t every_, count_ = 0;
  double sum_ = 0;
  TrainingResult& result_;
};

std::string title(const DemoPlan& plan, const std::string& what, const Contender& contender, int64_t seed) {
  return str_cat(what, " ", contender.label, plan.seeds.size() > 1 ? str_cat(" (seed ", seed, ")") : "");
}

/// Ablations of the memory; "swap" gives a stream the memory of another text.
constexpr const char* kWays[] = {"zero", "mean", "swap"};

}  // namespace

std::shared_ptr<models::LanguageModel> train_contender(const DemoPlan& plan, const Contender& contender, int64_t seed,
                                                       const Dataset& dataset, const std::string& folder,
                                                       const CommonOptions& common, DemoResults& results) {
  train::TrainOptions options = plan.train;
  options.seed = seed;
  options.learning_rate = contender.learning_rate;
  auto model = train::make_model(contender.model, seed);
  train::Trainer trainer(model, dataset.split("train"), nullptr, options);

  TrainingResult result;
  result.attention = contender.attention;
  result.seed = seed;
  result.learning_rate = contender.learning_rate;
  result.parameters = model->parameter_count();
  TrainDisplay display({options.steps, 1.0, false, common.quiet, title(plan, "train", contender, seed)});
  CurveObserver observer(display, options.steps, result);
  const FolderLock lock(folder);  // also against a `longspan train --resume` there
  const bool done = trainer.run(observer, folder, &dataset.tokenizer());
  display.finish();
  if (!done) throw Interrupted();
  result.tokens = display.tokens();
  result.seconds = display.seconds();
  results.trainings.push_back(std::move(result));
  model->eval();
  return model;
}

void evaluate_contender(const DemoPlan& plan, const Contender& contender, int64_t seed, models::LanguageModel& model,
                        const Dataset& dataset, const CommonOptions& common, DemoResults& results) {
  const TokenFile& tokens = dataset.split("test");
  const auto run = [&](int64_t length, const std::string& way) {
    train::EvaluateOptions options;
    options.blocks = plan.blocks;
    if (!way.empty()) {
      options.ablate_part = "memory";
      options.ablate_way = way;
    }
    train::ContextEvaluation evaluation(model, tokens, plan.lengths.back(), options);
    const auto limit = plan.block_limits.find({contender.attention, length});
    ProgressLine progress(str_cat(title(plan, "evaluate", contender, seed), " at ", report::length_label(length),
                                  way.empty() ? "" : ", memory=" + way, ", blocks"),
                          plan.blocks, common.quiet);
    return evaluation.run(length, limit == plan.block_limits.end() ? 0 : limit->second,
                          [&](int64_t done, int64_t total) {
                            stop_if_interrupted();
                            progress.set_total(total);
                            progress.update(done);
                          });
  };
  for (const int64_t length : plan.lengths) {
    const train::ContextResult measured = run(length, "");
    QualityResult quality;
    quality.attention = contender.attention;
    quality.seed = seed;
    quality.length = length;
    quality.blocks = measured.blocks;
    quality.bits_per_byte = measured.bits_per_byte;
    for (std::size_t i = 0; i < measured.block_offsets.size(); ++i)
      quality.by_block[measured.block_offsets[i]] = measured.block_bits[i];
    results.qualities.push_back(std::move(quality));
    results.state_bytes[contender.attention][length] = model.attention_cost(length).state_bytes;
  }
  if (contender.attention != "lavo") return;
  for (const int64_t length : plan.ablation_lengths)
    for (const char* way : kWays) results.ablations.push_back({way, seed, length, run(length, way).bits_per_byte});
}

void measure_speed(const DemoPlan& plan, const CommonOptions& common, DemoResults& results) {
  results.matmul_gflops = matmul_gflops(at::kFloat);
  nn::AttentionSizes sizes;
  sizes.width = plan.speed_heads * plan.speed_head_dim;
  sizes.heads = plan.speed_heads;
  const auto options_of = [&](const std::string& attention) {
    FieldValues options;
    if (attention == "lavo") options["r"] = plan.speed_window;
    if (attention != "softmax") options["w"] = plan.speed_window;
    return options;
  };
  ProgressLine progress("operator speed, lengths",
                        static_cast<int64_t>(plan.training_speed_lengths.size() + plan.forward_speed_lengths.size()),
                        common.quiet);
  int64_t done = 0;
  const auto measure = [&](Pass pass, int64_t length, std::vector<SpeedResult>& out) {
    const OperatorShape shape{1, plan.speed_heads, length, plan.speed_head_dim, at::kFloat, false};
    std::vector<std::string> names;
    std::vector<std::function<void()>> turns;
    for (const Contender& contender : plan.contenders) {
      if (pass == Pass::forward && contender.attention == "softmax" && length > plan.softmax_speed_limit) continue;
      auto attention =
          nn::make_attention(contender.attention, nn::Pattern::causal_self, sizes, options_of(contender.attention));
      names.push_back(contender.attention);
      turns.push_back([run = std::make_shared<OperatorRun>(attention, shape, pass, 0)] { (*run)(); });
    }
    const auto timings = time_alternating(turns);
    for (std::size_t i = 0; i < names.size(); ++i)
      out.push_back({names[i], length, 1e6 * timings[i].seconds / static_cast<double>(length)});
    progress.update(++done);
  };
  for (const int64_t length : plan.training_speed_lengths)
    measure(Pass::forward_backward, length, results.training_speed);
  for (const int64_t length : plan.forward_speed_lengths) measure(Pass::forward, length, results.forward_speed);
}

void draw_sample(models::LanguageModel& model, const Dataset& dataset, DemoResults& results) {
  const TokenFile& tokens = dataset.split("test");
  const int64_t length = std::min<int64_t>(400, tokens.size());
  std::vector<int64_t> prompt(static_cast<std::size_t>(length));
  tokens.copy_to(prompt.data(), 0, length);
  models::GenerateOptions options;
  options.tokens = 400;
  options.temperature = 0.8;
  const auto text = [&](const std::vector<int64_t>& ids) {
    return dataset.tokenizer().decode(std::vector<uint32_t>(ids.begin(), ids.end()));
  };
  results.sample_prompt = text(prompt);
  results.sample = text(models::generate(model, prompt, options, [](int64_t) { return !interrupt_requested(); }));
  stop_if_interrupted();
}

}  // namespace longspan::tool
