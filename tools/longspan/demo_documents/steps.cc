// measure_steps.
#include <algorithm>

#include "longspan/base/rng.h"
#include "longspan/tasks/trainer.h"
#include "run.h"
#include "task_score.h"
#include "tools/longspan/interrupt.h"
#include "tools/longspan/peak_memory.h"
#include "tools/longspan/progress.h"
#include "tools/longspan/timing.h"

namespace longspan::tool {

namespace {

/// One sequence of any tokens, with a label.
tasks::ExampleSet any_tokens(int64_t length, int64_t vocabulary) {
  tasks::ExampleSet set;
  set.kind = models::HeadKind::classification;
  tasks::Example example;
  Rng rng(0);
  tasks::Sequence& sequence = example.windows.emplace_back();
  for (int64_t i = 0; i < length; ++i)
    sequence.tokens.push_back(static_cast<int32_t>(rng.below(static_cast<uint64_t>(vocabulary))));
  example.labels = {0};
  set.examples = {std::move(example)};
  set.records = 1;
  return set;
}

}  // namespace

void measure_steps(DocumentRun& run) {
  const DocumentPlan& plan = run.plan;
  models::HeadConfig head;
  head.kind = models::HeadKind::classification;
  head.labels = {"0", "1"};
  tasks::TaskOptions options;
  options.train.batch = 1;
  options.train.recompute = train::Recompute::none;
  options.train.autocast = train::Autocast::none;
  ProgressLine progress("steps by length, lengths", static_cast<int64_t>(plan.lengths.size()), run.common.quiet);
  int64_t done = 0;
  for (const int64_t length : plan.lengths) {
    const tasks::ExampleSet set = any_tokens(length, run.tokenizer.vocabulary_size());
    options.train.length = length;
    std::vector<std::shared_ptr<tasks::TaskTrainer>> trainers;
    std::vector<std::function<void()>> turns;
    std::vector<DocumentCost> costs;
    for (const DocumentContender& contender : plan.contenders) {
      models::EncoderConfig config = encoder_of(plan, contender, run.tokenizer);
      config.max_positions = std::max(config.max_positions, length);
      auto trainer = std::make_shared<tasks::TaskTrainer>(tasks::make_model(config, head, 0), set, nullptr, options);
      turns.push_back([trainer] { trainer->step(); });
      turns.back()();  // the optimizer's moments, and the pattern, are made once
      DocumentCost cost{contender.name, length};
      if (const auto peak = peak_memory(turns.back())) cost.bytes = static_cast<double>(*peak);
      costs.push_back(cost);
      stop_if_interrupted();
    }
    TimingPlan timing;
    timing.warm_up = false;
    const auto timings = time_alternating(turns, timing);
    for (std::size_t i = 0; i < costs.size(); ++i) {
      costs[i].seconds = timings[i].seconds;
      run.results.costs.push_back(costs[i]);
    }
    progress.update(++done);
  }
}

}  // namespace longspan::tool
