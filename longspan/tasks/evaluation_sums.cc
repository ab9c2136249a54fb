#include "longspan/tasks/evaluation_sums.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/log_softmax.h>

#include <algorithm>
#include <utility>

#include "longspan/metrics/likelihood.h"
#include "longspan/nn/packing.h"
#include "longspan/tasks/losses.h"
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
    tokens += set.examples[static_cast<std::size_t>(examples[end])].tokens();
    if (end > begin && tokens > kTokensTogether) break;
  }
  return std::span(examples).subspan(begin, end - begin);
}

}  // namespace

ReadCounts each_batch(models::EncoderModel& model, const ExampleSet& set, const EvaluateOptions& options,
                      const OnExamples& on_examples, const std::function<void(const Batch&)>& on_batch) {
  LONGSPAN_CHECK(set.size() > 0, "task: there is no example");
  LONGSPAN_CHECK(set.kind == model.head_config().kind, "task: the examples are for ", to_string(set.kind),
                 ", the model for ", to_string(model.head_config().kind));
  const std::vector<int64_t> examples = chosen(set.size(), options.examples);
  c10::InferenceMode inference;
  train::EvaluationMode evaluation(model);
  train::AutocastGuard autocast(options.autocast);
  BatchOptions batches;
  batches.masking = options.masking;
  batches.learn_answers = options.learn_answers;
  ReadCounts read;
  for (std::size_t begin = 0; begin < examples.size();) {
    const auto numbers = together(set, examples, begin);
    // What is hidden depends on the example, not on what it is read with.
    const Batch batch = make_batch(set, numbers, model.head_config(), model.encoder_config(), batches,
                                   {options.seed, 0, static_cast<uint64_t>(begin)});
    on_batch(batch);
    read.tokens += batch.pack.tokens.size(1);
    read.sequences += batch.sequences();
    begin += numbers.size();
    if (on_examples) on_examples(static_cast<int64_t>(begin), static_cast<int64_t>(examples.size()));
  }
  return read;
}

void each_part(const Batch& batch, const std::function<void(const Batch& part)>& use) {
  const std::vector<int64_t> border = nn::borders(batch.pack.cu_seqlens);
  const int64_t sequences = batch.sequences();
  for (int64_t begin = 0; begin < sequences;) {
    const auto rows = [&](int64_t end) {
      return border[static_cast<std::size_t>(end)] - border[static_cast<std::size_t>(begin)];
    };
    int64_t end = begin + 1;
    while (end < sequences && rows(end + 1) <= kTokensTogether) ++end;
    use(part_of(batch, begin, end));
    begin = end;
  }
}

at::Tensor scores_in_parts(models::EncoderModel& model, const Batch& batch) {
  std::vector<at::Tensor> scores;
  each_part(batch, [&](const Batch& part) { scores.push_back(head_scores(model, part, model.hidden(part.pack))); });
  return scores.size() == 1 ? scores.front() : at::cat(scores);
}

void each_run_of_hidden_tokens(const models::EncoderModel& model, const Batch& batch,
                               const std::function<void(int64_t first, int64_t size)>& use) {
  constexpr int64_t kNumbers = 1 << 22;
  const int64_t all = batch.places.numel(), most = std::max<int64_t>(kNumbers / model.encoder_config().vocabulary, 16);
  for (int64_t first = 0; first < all; first += most) use(first, std::min(most, all - first));
}

void EvaluationSums::add_scores(const Batch& batch, const at::Tensor& scores) {
  examples_ += static_cast<int64_t>(batch.examples.size());
  targets_ += batch.targets_in_loss;
  const models::HeadConfig& head = model_.head_config();
  loss_ += train::ordered_sum(losses(head, batch, scores));
  for (Prediction& prediction : predictions(head, set_, batch, scores, options_.answers)) {
    const auto number = static_cast<std::size_t>(prediction.example);
    if (set_.kind == HeadKind::question) {
      answers_.push_back({set_.ids[number], std::move(prediction), set_.questions[number].right_answers()});
    } else {
      predicted_.push_back(std::move(prediction.labels));
      expected_.push_back(set_.examples[number].labels);
    }
  }
}

Evaluation EvaluationSums::result() const {
  Evaluation out;
  out.examples = examples_;
  out.targets = targets_;
  out.loss = loss_ / static_cast<double>(targets_);
  switch (set_.kind) {
    case HeadKind::masked_language:
      out.metrics = {{"accuracy", targets_ > 0 ? static_cast<double>(right_) / static_cast<double>(targets_) : 0},
                     {"perplexity", metrics::perplexity(out.loss)},
                     {"bits_per_token", metrics::masked_bpc(out.loss)}};
      break;
    case HeadKind::classification:
    case HeadKind::multi_label:
      out.metrics = label_metrics();
      break;
    case HeadKind::choice:
      out.metrics = {{"accuracy", metrics::exact_share(predicted_, expected_)}};
      break;
    case HeadKind::question:
      out.metrics = answer_metrics(answers_);
      break;
  }
  return out;
}

void EvaluationSums::add_masked(const Batch& batch, const at::Tensor& hidden) {
  examples_ += static_cast<int64_t>(batch.examples.size());
  targets_ += batch.targets_in_loss;
  each_run_of_hidden_tokens(model_, batch, [&](int64_t first, int64_t size) {
    const at::Tensor scores = model_.masked_logits(hidden, batch.places.narrow(0, first, size)),
                     targets = batch.targets.narrow(0, first, size);
    loss_ -= train::ordered_sum(
        at::log_softmax(scores.to(hidden.scalar_type()), 1).gather(1, targets.unsqueeze(1)).squeeze(1));
    right_ += scores.argmax(1).eq(targets).sum().item<int64_t>();
  });
}

metrics::Metrics EvaluationSums::label_metrics() const {
  const bool one = set_.kind == HeadKind::classification;
  const auto labels = static_cast<int64_t>(model_.head_config().labels.size());
  const auto counts = metrics::count_labels(predicted_, expected_, labels);
  const auto absent = options_.absent_labels.value_or(one ? metrics::AbsentLabels::skip : metrics::AbsentLabels::zero);
  const double macro = metrics::macro_f1(counts, absent), micro = metrics::micro_f1(counts),
               exact = metrics::exact_share(predicted_, expected_);
  if (!one) return {{"macro_f1", macro}, {"micro_f1", micro}, {"exact_match", exact}};
  metrics::Metrics out = {{"accuracy", exact}, {"macro_f1", macro}, {"micro_f1", micro}};
  if (labels == 2) out.emplace_back("f1", counts[1].f1());
  return out;
}

}  // namespace longspan::tasks
