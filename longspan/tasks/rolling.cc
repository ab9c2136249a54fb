#include "longspan/tasks/rolling.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>

#include <algorithm>
#include <chrono>
#include <cmath>

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

/// Of one shift.
struct Sums {
  Change hidden, head;
  EvaluationSums evaluation;
  double seconds = 0;
};

/// Adds the seconds of its life.
class Stopwatch {
 public:
  explicit Stopwatch(double& seconds) : seconds_(seconds) {}
  ~Stopwatch() { seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  double& seconds_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

at::Tensor exact(const at::Tensor& values) {
  return values.scalar_type() == at::kBFloat16 ? values.to(at::kFloat) : values;
}

}  // namespace

std::vector<RolledEvaluation> evaluate_rolled(models::EncoderModel& model, const ExampleSet& set,
                                              std::span<const int64_t> shifts, const RollingOptions& options,
                                              const OnExamples& on_examples) {
  if (options.labelled) check_labels(set, "the examples");
  models::check_rolling(model, options.how);
  std::vector<Sums> sums;
  for (std::size_t i = 0; i < shifts.size(); ++i)
    sums.push_back({{}, {}, EvaluationSums(model, set, options.evaluate)});

  const ReadCounts read = each_batch(model, set, options.evaluate, on_examples, [&](const Batch& batch) {
    // What the head says of the rolled sequences, by shift and part.
    std::vector<std::vector<at::Tensor>> scores(shifts.size());
    const auto roll = [&](const Batch& part) {
      const bool masked = set.kind == HeadKind::masked_language;
      const at::Tensor before = model.hidden(part.pack);
      const at::Tensor said = masked ? at::Tensor() : exact(head_scores(model, part, before));
      for (std::size_t i = 0; i < shifts.size(); ++i) {
        const Stopwatch stopwatch(sums[i].seconds);
        models::RollingOptions how = options.how;
        how.rolling.shift = shifts[i];
        const models::RolledHidden after = models::rolled_hidden(model, part.pack, how);
        sums[i].hidden.add(exact(before), exact(after.hidden));
        if (masked) {
          each_run_of_hidden_tokens(model, part, [&](int64_t first, int64_t size) {
            const at::Tensor places = part.places.narrow(0, first, size);
            sums[i].head.add(exact(model.masked_logits(before, places)),
                             exact(model.masked_logits(after.for_head, places)));
          });
          if (options.labelled) sums[i].evaluation.add_masked(part, after.for_head);
        } else {
          scores[i].push_back(head_scores(model, part, after.for_head));
          sums[i].head.add(said, exact(scores[i].back()));
        }
      }
    };
    if (set.kind == HeadKind::masked_language) return roll(batch);  // its examples are sequences, never documents
    each_part(batch, roll);
    for (std::size_t i = 0; i < shifts.size() && options.labelled; ++i)
      sums[i].evaluation.add_scores(batch, at::cat(scores[i]));
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
