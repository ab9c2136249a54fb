#include "measure.h"

#include <algorithm>

#include "longspan/base/check.h"
#include "longspan/io/folder_lock.h"
#include "longspan/report/format.h"
#include "longspan/train/evaluate.h"
#include "longspan/train/train.h"
#include "tools/longspan/inspect/lavo_look.h"
#include "tools/longspan/interrupt.h"
#include "tools/longspan/progress.h"
#include "tools/longspan/sample_text.h"
#include "tools/longspan/train_display.h"

namespace longspan::tool {

namespace {

/// The display of `longspan train`, which also keeps the training curve.
class CurveObserver final : public train::TrainObserver {
 public:
  CurveObserver(TrainDisplay& display, TrainingResult& result) : display_(display), result_(result) {}

  void on_step(const train::StepResult& step) override {
    display_.on_step(step);
    result_.curve.add(static_cast<double>(display_.tokens()), display_.bits_per_byte(step.loss));
  }
  bool should_stop() override { return display_.should_stop(); }

 private:
  TrainDisplay& display_;
  TrainingResult& result_;
};

std::string title(const DemoPlan& plan, const std::string& what, const Contender& contender, int64_t seed) {
  return str_cat(what, " ", contender.label, plan.seeds.size() > 1 ? str_cat(" (seed ", seed, ")") : "");
}

/// Ablations of the memory; "swap" gives a stream the memory of another text.
constexpr const char* kWays[] = {"zero", "mean", "swap"};

}  // namespace

std::shared_ptr<models::LanguageModel> train_contender(DemoRun& run, const Contender& contender, int64_t seed,
                                                       const Dataset& dataset, const std::string& folder) {
  train::TrainOptions options = run.plan.train;
  options.seed = seed;
  options.learning_rate = contender.learning_rate;
  auto model = train::make_model(contender.model, seed);
  train::Trainer trainer(model, dataset.split("train"), nullptr, options);

  TrainingResult result;
  result.attention = contender.attention;
  result.seed = seed;
  result.learning_rate = contender.learning_rate;
  result.parameters = model->parameter_count();
  const std::string what = title(run.plan, "train", contender, seed);
  run.clock.begin(what, training_work(run.plan, contender));
  TrainDisplay display(
      {options.steps, 1.0, false, run.common.quiet, what, [&](double share) { return run.clock.left(share); }});
  CurveObserver observer(display, result);
  const FolderLock lock(folder);  // also against a `longspan train --resume` there
  const bool done = trainer.run(observer, folder, &dataset.tokenizer());
  display.finish();
  if (!done) throw Interrupted();
  result.tokens = display.tokens();
  result.seconds = display.seconds();
  run.results.trainings.push_back(std::move(result));
  model->eval();
  return model;
}

void evaluate_contender(DemoRun& run, const Contender& contender, int64_t seed, models::LanguageModel& model,
                        const Dataset& dataset) {
  const DemoPlan& plan = run.plan;
  const TokenFile& tokens = dataset.split("test");
  const double whole = evaluation_work(plan, contender);
  run.clock.begin(title(plan, "evaluate", contender, seed), whole);
  double done_work = 0;
  const auto evaluate = [&](int64_t length, const std::string& way) {
    train::EvaluateOptions options;
    options.blocks = plan.blocks;
    if (!way.empty()) {
      options.ablate_part = "memory";
      options.ablate_way = way;
    }
    train::ContextEvaluation evaluation(model, tokens, plan.lengths.back(), options);
    const auto limit = plan.block_limits.find({contender.attention, length});
    const int64_t blocks = limit == plan.block_limits.end() ? plan.blocks : limit->second;
    const double work = reading_work(plan, contender, length, blocks);
    ProgressLine progress(str_cat(title(plan, "evaluate", contender, seed), " at ", report::length_label(length),
                                  way.empty() ? "" : ", memory=" + way, ", blocks"),
                          plan.blocks, run.common.quiet);
    const auto result =
        evaluation.run(length, limit == plan.block_limits.end() ? 0 : limit->second, [&](int64_t done, int64_t total) {
          stop_if_interrupted();
          progress.set_total(total);
          const double part = work * static_cast<double>(done) / static_cast<double>(total);
          progress.update(done, run.clock.left((done_work + part) / whole));
        });
    done_work += work;
    return result;
  };
  for (const int64_t length : plan.lengths) {
    const train::ContextResult measured = evaluate(length, "");
    QualityResult quality;
    quality.attention = contender.attention;
    quality.seed = seed;
    quality.length = length;
    quality.blocks = measured.blocks;
    quality.bits_per_byte = measured.bits_per_byte;
    for (std::size_t i = 0; i < measured.block_offsets.size(); ++i)
      quality.by_block[measured.block_offsets[i]] = measured.block_bits[i];
    run.results.qualities.push_back(std::move(quality));
  }
  if (contender.attention != "lavo") return;
  for (const int64_t length : plan.ablation_lengths)
    for (const char* way : kWays)
      run.results.ablations.push_back({way, seed, length, evaluate(length, way).bits_per_byte});
}

void look_at_memory(DemoRun& run, models::LanguageModel& model, const Dataset& dataset) {
  const TokenFile& file = dataset.split("test");
  std::vector<int64_t> tokens(static_cast<std::size_t>(std::min(run.plan.page, file.size())));
  file.copy_to(tokens.data(), 0, static_cast<int64_t>(tokens.size()));
  MemoryLook& look = run.results.look;
  look.layers = look_at(model, 0, static_cast<int64_t>(tokens.size()),
                        [&](int64_t* out, int64_t begin, int64_t count) { file.copy_to(out, begin, count); });
  look.labels = labels_of(dataset.tokenizer(), {tokens.begin(), tokens.end()});
  stop_if_interrupted();
}

void draw_sample(DemoRun& run, models::LanguageModel& model, const Dataset& dataset) {
  constexpr int64_t kTokens = 400;
  constexpr double kSeconds = 30;
  const SampleText sample = sample_text(model, dataset.split("test"), dataset.tokenizer(), kTokens, kSeconds);
  run.results.sample_prompt = sample.prompt;
  run.results.sample = sample.text;
  stop_if_interrupted();
}

}  // namespace longspan::tool
