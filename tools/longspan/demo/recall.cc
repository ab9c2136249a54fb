// The demo's memories on a task that cannot be done without one.
#include "longspan/tasks/recall.h"

#include "longspan/base/check.h"
#include "longspan/report/format.h"
#include "measure.h"
#include "tools/longspan/interrupt.h"
#include "tools/longspan/progress.h"

namespace longspan::tool {

namespace {

class Steps final : public train::TrainObserver {
 public:
  explicit Steps(const std::function<void(int64_t)>& told) : told_(told) {}
  void on_step(const train::StepResult& step) override {
    seconds_ += step.seconds;
    told_(step.step);
  }
  bool should_stop() override { return interrupt_requested(); }
  double seconds() const { return seconds_; }

 private:
  const std::function<void(int64_t)>& told_;
  double seconds_ = 0;
};

}  // namespace

void measure_recall(DemoRun& run) {
  const RecallPlan& plan = run.plan.recall;
  const RecallOptions recall = resolved({});
  run.clock.begin("recall", recall_work(run.plan));
  const auto all = static_cast<double>(plan.contenders.size());
  double done = 0;
  for (const RecallContender& contender : plan.contenders) {
    models::ModelConfig config = tasks::recall_model(recall);
    config.attention = contender.attention;
    config.attention_options = contender.options;
    train::TrainOptions options = tasks::recall_training();
    options.steps = plan.steps;
    options.warmup = std::min(options.warmup, plan.steps);
    options.seed = run.plan.seeds.front();
    const auto model = train::make_model(config, options.seed);
    ProgressLine line("recall " + contender.label, plan.steps, run.common.quiet);
    const std::function<void(int64_t)> told = [&](int64_t step) {
      const double share = static_cast<double>(step) / static_cast<double>(plan.steps);
      line.update(step, run.clock.left((done + 0.7 * share) / all));
    };
    Steps steps(told);
    if (!tasks::recall_trainer(model, recall, options)->run(steps)) throw Interrupted();
    RecallPanelResult result{contender.attention, contender.label, model->parameter_count(), steps.seconds(), {}};
    for (const int64_t length : plan.lengths) {
      tasks::RecallEvaluation measure;
      measure.questions = plan.questions;
      const tasks::RecallResult found = tasks::evaluate_recall(*model, recall, plan.pairs, length, measure,
                                                               [](int64_t, int64_t) { stop_if_interrupted(); });
      result.points.push_back({length, found.accuracy, found.standard_error});
    }
    run.results.recall.push_back(std::move(result));
    done += 1;
  }
}

}  // namespace longspan::tool
