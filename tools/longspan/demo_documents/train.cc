// train_document_task.
#include <torch/utils.h>

#include <algorithm>

#include "longspan/base/check.h"
#include "longspan/report/format.h"
#include "longspan/tasks/evaluate.h"
#include "longspan/tasks/trainer.h"
#include "run.h"
#include "task_score.h"
#include "tools/longspan/interrupt.h"
#include "tools/longspan/progress.h"

namespace longspan::tool {

namespace {

/// Shows the steps and keeps the scores of the validations.
class Watcher final : public train::TrainObserver {
 public:
  Watcher(const DocumentTask& task, const std::string& title, bool quiet, DocumentScore& score)
      : task_(task), score_(score), line_(title, task.steps, quiet) {}
  void on_step(const train::StepResult& step) override {
    score_.seconds += step.seconds;
    line_.update(step.step, "loss " + report::fixed(step.loss, 3));
  }
  void on_validation(const train::ValidationResult& result) override {
    score_.valid.emplace_back(result.step, score_in(task_, result.metrics));
  }
  bool should_stop() override { return interrupt_requested(); }

 private:
  const DocumentTask& task_;
  DocumentScore& score_;
  ProgressLine line_;
};

/// The encoder's weights of one model into another of the same configuration.
void copy_encoder(models::EncoderModel& from, models::EncoderModel& to) {
  torch::NoGradGuard no_grad;
  auto targets = to.encoder().named_parameters();
  for (const auto& source : from.encoder().named_parameters()) targets[source.key()].copy_(source.value());
}

}  // namespace

std::pair<DocumentScore, TrainedEncoder> train_document_task(DocumentRun& run, const DocumentTask& task,
                                                             const TaskExamples& examples,
                                                             const DocumentContender& contender, int64_t seed,
                                                             const TrainedEncoder& from) {
  TrainedEncoder model = tasks::make_model(encoder_of(run.plan, contender, run.tokenizer), examples.head, seed);
  if (from) copy_encoder(*from, *model);
  tasks::TaskOptions options;
  options.train.steps = task.steps;
  options.train.batch = task.batch;
  options.train.length = task.tokens;
  options.train.learning_rate = task.learning_rate;
  options.train.warmup = std::min<int64_t>(20, task.steps);
  options.train.min_lr_ratio = 0.1;
  options.train.seed = seed;
  options.train.autocast = train::Autocast::none;
  options.train.valid_every = std::max<int64_t>(1, task.steps / 5);
  options.valid_examples = 100;
  tasks::TaskTrainer trainer(model, examples.train, &examples.valid, options);

  DocumentScore score;
  score.task = task.name;
  score.contender = contender.name;
  score.seed = seed;
  score.parameters = model->parameter_count();
  score.steps = task.steps;
  const std::string title = str_cat(task.name, ", ", contender.label,
                                    run.plan.seeds.size() > 1 ? str_cat(" (seed ", seed, ")") : "", ", steps");
  {
    Watcher watcher(task, title, run.common.quiet, score);
    if (!trainer.run(watcher)) throw Interrupted();
  }
  score.test = score_in(
      task, tasks::evaluate(*model, examples.test, {}, [](int64_t, int64_t) { stop_if_interrupted(); }).metrics);
  return {std::move(score), std::move(model)};
}

}  // namespace longspan::tool
