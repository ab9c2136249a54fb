#include "longspan/tasks/evaluation_sums.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/log_softmax.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "longspan/tasks/predictions.h"
#include "longspan/train/autocast.h"
#include "longspan/train/evaluation_mode.h"
#include "longspan/train/sums.h"

namespace longspan::tasks {

using models::HeadKind;

namespace {

/// Sequences are read together up to so many tokens, or one alone that is longer.
constexpr int64_t kTokensTogether = 1 << 13;

/// Numbers of `count` of `all` examples, spread evenly; 0 = all.
std::vector<int64_t> chosen(int64_t all, int64_t count) {
  if (count <= 0 || count > all) count = all;
  std::vector<int64_t> out;
  for (int64_t i = 0; i < count; ++i) out.push_back(i * all / count);
  return out;
}

/// The next of `examples` from `begin` on that are read together.
std::span<const int64_t> together(const ExampleSet& set, const std::vector<int64_t>& examples, std::size_t begin) {
  int64_t tokens = 0;
  std::size_t end = begin;
  for (; end < examples.size(); ++end) {
    tokens += static_cast<int64_t>(set.examples[static_cast<std::size_t>(examples[end])].tokens.size());
    if (end > begin && tokens > kTokensTogether) break;
  }
  return std::span(examples).subspan(begin, end - begin);
}

}  // namespace

int64_t each_batch(models::EncoderModel& model, const ExampleSet& set, const EvaluateOptions& options,
                   const OnExamples& on_examples, const std::function<void(const Batch&)>& on_batch) {
  LONGSPAN_CHECK(set.size() > 0, "task: there is no example");
  LONGSPAN_CHECK(set.kind == model.head_config().kind, "task: the examples are for ", to_string(set.kind),
                 ", the model for ", to_string(model.head_config().kind));
  const std::vector<int64_t> examples = chosen(set.size(), options.examples);
  c10::InferenceMode inference;
  train::EvaluationMode evaluation(model);
  train::AutocastGuard autocast(options.autocast);
  int64_t tokens = 0;
  for (std::size_t begin = 0; begin < examples.size();) {
    const auto numbers = together(set, examples, begin);
    // What is hidden depends on the example, not on what it is read with.
    const Batch batch = make_batch(set, numbers, model.head_config(), model.encoder_config(), options.masking,
                                   {options.seed, 0, static_cast<uint64_t>(begin)});
    on_batch(batch);
    tokens += batch.pack.tokens.size(1);
    begin += numbers.size();
    if (on_examples) on_examples(static_cast<int64_t>(begin), static_cast<int64_t>(examples.size()));
  }
  return tokens;
}

int64_t logits_together(const models::EncoderModel& model) {
  constexpr int64_t kNumbers = 1 << 22;
  return std::max<int64_t>(kNumbers / model.encoder_config().vocabulary, 16);
}

void EvaluationSums::add(const Batch& batch, const at::Tensor& hidden) {
  if (set_.kind == HeadKind::masked_language) return add_masked(batch, hidden);
  loss_ += train::ordered_sum(losses(model_, batch, hidden, 0, 0, 0));
  targets_ += batch.targets_in_loss;
  for (Prediction& prediction : predictions(model_, set_, batch, hidden)) {
    const auto number = static_cast<std::size_t>(prediction.example);
    if (set_.kind == HeadKind::question) {
      add_answer(prediction.answer, set_.questions[number]);
    } else {
      predicted_.push_back(std::move(prediction.labels));
      expected_.push_back(set_.examples[number].labels);
    }
    ++examples_;
  }
}

Evaluation EvaluationSums::result() const {
  Evaluation out;
  out.examples = examples_;
  out.targets = targets_;
  out.loss = loss_ / static_cast<double>(targets_);
  const auto share = [](double sum, int64_t of) { return of > 0 ? sum / static_cast<double>(of) : 0; };
  const auto counts = count_labels(predicted_, expected_, static_cast<int64_t>(model_.head_config().labels.size()));
  switch (set_.kind) {
    case HeadKind::masked_language:
      out.metrics = {{"accuracy", share(static_cast<double>(right_), targets_)},
                     {"perplexity", std::exp(out.loss)},
                     {"bits_per_token", out.loss / std::numbers::ln2}};
      break;
    case HeadKind::classification:
      out.metrics = {{"accuracy", exact_share(predicted_, expected_)},
                     {"macro_f1", macro_f1(counts)},
                     {"micro_f1", micro_f1(counts)}};
      break;
    case HeadKind::multi_label:
      out.metrics = {{"macro_f1", macro_f1(counts)},
                     {"micro_f1", micro_f1(counts)},
                     {"exact_match", exact_share(predicted_, expected_)}};
      break;
    case HeadKind::question:
      out.metrics = {{"exact_match", share(exact_, examples_)}, {"f1", share(f1_, examples_)}};
      break;
  }
  return out;
}

void EvaluationSums::add_masked(const Batch& batch, const at::Tensor& hidden) {
  examples_ += static_cast<int64_t>(batch.examples.size());
  targets_ += batch.targets_in_loss;
  const int64_t rows = logits_together(model_);
  for (int64_t begin = 0; begin < batch.targets_in_loss; begin += rows) {
    const int64_t size = std::min(rows, batch.targets_in_loss - begin);
    const at::Tensor scores = model_.masked_logits(hidden, batch.places.narrow(0, begin, size)),
                     targets = batch.targets.narrow(0, begin, size);
    loss_ -= train::ordered_sum(
        at::log_softmax(scores.to(hidden.scalar_type()), 1).gather(1, targets.unsqueeze(1)).squeeze(1));
    right_ += scores.argmax(1).eq(targets).sum().item<int64_t>();
  }
}

void EvaluationSums::add_answer(const std::string& answer, const QuestionRecord& record) {
  std::vector<std::string> right;
  for (const AnswerSpan& span : record.answers)
    right.push_back(
        record.context.substr(static_cast<std::size_t>(span.begin), static_cast<std::size_t>(span.end - span.begin)));
  exact_ += exact_match(answer, right);
  f1_ += answer_f1(answer, right);
}

}  // namespace longspan::tasks
