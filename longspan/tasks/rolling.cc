#include "longspan/tasks/rolling.h"

#include <ATen/TensorOperators.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>

#include "longspan/tasks/evaluation_sums.h"
#include "longspan/tasks/losses.h"
#include "longspan/train/sums.h"
#include "longspan/train/train.h"

namespace longspan::tasks {

namespace {

using models::HeadKind;

/// Squares of a change and of what is changed, summed up.
class Change {
 public:
  void add(const at::Tensor& before, const at::Tensor& after) {
    before_ += train::ordered_sum_of_squares(before);
    change_ += train::ordered_sum_of_squares(after - before);
  }
  double relative() const { return before_ == 0 ? 0 : std::sqrt(change_ / before_); }

 private:
  double before_ = 0, change_ = 0;
};

/// What the head makes of a batch's hidden states, in parts.
void each_output(models::EncoderModel& model, const Batch& batch,
                 const std::function<void(const std::function<at::Tensor(const at::Tensor& hidden)>& of)>& on_part) {
  switch (model.head_config().kind) {
    case HeadKind::masked_language:
      return each_run_of_hidden_tokens(model, batch, [&](int64_t first, int64_t size) {
        const at::Tensor places = batch.places.narrow(0, first, size);
        on_part([&](const at::Tensor& hidden) { return model.masked_logits(hidden, places); });
      });
    case HeadKind::classification:
    case HeadKind::multi_label:
    case HeadKind::question:
    case HeadKind::choice:
      return on_part([&](const at::Tensor& hidden) { return head_scores(model, batch, hidden); });
  }
}

at::Tensor exact(const at::Tensor& values) {
  return values.scalar_type() == at::kBFloat16 ? values.to(at::kFloat) : values;
}

}  // namespace

std::vector<RolledEvaluation> evaluate_rolled(models::EncoderModel& model, const ExampleSet& set,
                                              std::span<const int64_t> shifts, const RollingOptions& options,
                                              const OnExamples& on_examples) {
  if (options.labelled) check_labels(set, "the examples");
  models::check_rolling(model, options.how);
  struct Sums {
    Change hidden, head;
    EvaluationSums evaluation;
    double seconds = 0;
  };
  std::vector<Sums> sums;
  for (std::size_t i = 0; i < shifts.size(); ++i)
    sums.push_back({{}, {}, EvaluationSums(model, set, options.evaluate)});

  const ReadCounts read = each_batch(model, set, options.evaluate, on_examples, [&](const Batch& batch) {
    const at::Tensor before = model.hidden(batch.pack);
    for (std::size_t i = 0; i < shifts.size(); ++i) {
      const auto start = std::chrono::steady_clock::now();
      models::RollingOptions how = options.how;
      how.rolling.shift = shifts[i];
      const models::RolledHidden after = models::rolled_hidden(model, batch.pack, how);
      sums[i].hidden.add(exact(before), exact(after.hidden));
      each_output(model, batch,
                  [&](const auto& of) { sums[i].head.add(exact(of(before)), exact(of(after.for_head))); });
      if (options.labelled) sums[i].evaluation.add(batch, after.for_head);
      sums[i].seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }
  });

  std::vector<RolledEvaluation> out;
  for (std::size_t i = 0; i < shifts.size(); ++i) {
    RolledEvaluation each{shifts[i], sums[i].hidden.relative(), sums[i].head.relative(), sums[i].evaluation.result()};
    each.evaluation.tokens = read.tokens;
    each.evaluation.sequences = read.sequences;
    each.evaluation.seconds = sums[i].seconds;
    const bool finite =
        std::isfinite(each.hidden_change) && (each.evaluation.targets == 0 || std::isfinite(each.evaluation.loss));
    if (!finite) throw train::NonFiniteError(str_cat("task: shift ", shifts[i], ": the hidden states are not finite"));
    out.push_back(std::move(each));
  }
  return out;
}

}  // namespace longspan::tasks
