#include "longspan/tasks/evaluate.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/topk.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <utility>

#include "longspan/metrics/likelihood.h"
#include "longspan/nn/packing.h"
#include "longspan/tasks/answer_metrics.h"
#include "longspan/tasks/batch.h"
#include "longspan/tasks/losses.h"
#include "longspan/train/autocast.h"
#include "longspan/train/evaluation_mode.h"
#include "longspan/train/sums.h"
#include "longspan/train/train.h"

namespace longspan::tasks {

namespace {

using models::HeadKind;

/// Sequences are read together up to so many tokens, or one alone that is longer.
constexpr int64_t kTokensTogether = 1 << 13;
/// Logits of so many numbers at a time.
constexpr int64_t kLogitsTogether = 1 << 22;

/// Numbers of `count` of the examples, spread evenly.
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

/// head_scores() of a batch, some of its sequences at a time: a long document has many.
at::Tensor scores_of(models::EncoderModel& model, const Batch& batch) {
  const std::vector<int64_t> border = nn::borders(batch.pack.cu_seqlens);
  const int64_t sequences = batch.sequences();
  std::vector<at::Tensor> scores;
  for (int64_t begin = 0; begin < sequences;) {
    const auto rows = [&](int64_t end) {
      return border[static_cast<std::size_t>(end)] - border[static_cast<std::size_t>(begin)];
    };
    int64_t end = begin + 1;
    while (end < sequences && rows(end + 1) <= kTokensTogether) ++end;
    const Batch part = part_of(batch, begin, end);
    scores.push_back(head_scores(model, part, model.hidden(part.pack)));
    begin = end;
  }
  return scores.size() == 1 ? scores.front() : at::cat(scores);
}

/// Sums over the batches of an evaluation.
class Sums {
 public:
  Sums(models::EncoderModel& model, const ExampleSet& set, const EvaluateOptions& options)
      : model_(model), set_(set), options_(options) {}

  void add(const Batch& batch) {
    examples_ += static_cast<int64_t>(batch.examples.size());
    targets_ += batch.targets_in_loss;
    if (set_.kind == HeadKind::masked_language) return add_masked(batch, model_.hidden(batch.pack));
    const models::HeadConfig& head = model_.head_config();
    const at::Tensor scores = scores_of(model_, batch);
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

  Evaluation result() {
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
        out.metrics = answer_metrics(std::move(answers_));
        break;
    }
    return out;
  }

 private:
  void add_masked(const Batch& batch, const at::Tensor& hidden) {
    const int64_t rows = std::max<int64_t>(kLogitsTogether / model_.encoder_config().vocabulary, 16);
    for (int64_t begin = 0; begin < batch.targets_in_loss; begin += rows) {
      const int64_t size = std::min(rows, batch.targets_in_loss - begin);
      const at::Tensor scores = model_.masked_logits(hidden, batch.places.narrow(0, begin, size)),
                       targets = batch.targets.narrow(0, begin, size);
      loss_ -= train::ordered_sum(
          at::log_softmax(scores.to(hidden.scalar_type()), 1).gather(1, targets.unsqueeze(1)).squeeze(1));
      right_ += scores.argmax(1).eq(targets).sum().item<int64_t>();
    }
  }

  metrics::Metrics label_metrics() const {
    const bool one = set_.kind == HeadKind::classification;
    const auto labels = static_cast<int64_t>(model_.head_config().labels.size());
    const auto counts = metrics::count_labels(predicted_, expected_, labels);
    const auto absent =
        options_.absent_labels.value_or(one ? metrics::AbsentLabels::skip : metrics::AbsentLabels::zero);
    const double macro = metrics::macro_f1(counts, absent), micro = metrics::micro_f1(counts),
                 exact = metrics::exact_share(predicted_, expected_);
    if (!one) return {{"macro_f1", macro}, {"micro_f1", micro}, {"exact_match", exact}};
    metrics::Metrics out = {{"accuracy", exact}, {"macro_f1", macro}, {"micro_f1", micro}};
    if (labels == 2) out.emplace_back("f1", counts[1].f1());
    return out;
  }

  models::EncoderModel& model_;
  const ExampleSet& set_;
  const EvaluateOptions& options_;
  double loss_ = 0;
  int64_t targets_ = 0, examples_ = 0, right_ = 0;
  std::vector<std::vector<int64_t>> predicted_, expected_;
  std::vector<JudgedAnswer> answers_;
};

void check_set(const models::EncoderModel& model, const ExampleSet& set) {
  LONGSPAN_CHECK(set.size() > 0, "task: there is no example");
  LONGSPAN_CHECK(set.kind == model.head_config().kind, "task: the examples are for ", to_string(set.kind),
                 ", the model for ", to_string(model.head_config().kind));
}

}  // namespace

Evaluation evaluate(models::EncoderModel& model, const ExampleSet& set, const EvaluateOptions& options,
                    const OnExamples& on_examples) {
  check_set(model, set);
  check_labels(set, "the examples");
  const auto start = std::chrono::steady_clock::now();
  const std::vector<int64_t> examples = chosen(set.size(), options.examples);
  c10::InferenceMode inference;
  train::EvaluationMode evaluation(model);
  train::AutocastGuard autocast(options.autocast);
  BatchOptions batches;
  batches.masking = options.masking;
  batches.learn_answers = options.learn_answers;
  Sums sums(model, set, options);
  int64_t tokens = 0, sequences = 0;
  for (std::size_t begin = 0; begin < examples.size();) {
    const auto numbers = together(set, examples, begin);
    // What is hidden depends on the example, not on what it is read with.
    const Batch batch = make_batch(set, numbers, model.head_config(), model.encoder_config(), batches,
                                   {options.seed, 0, static_cast<uint64_t>(begin)});
    sums.add(batch);
    tokens += batch.pack.tokens.size(1);
    sequences += batch.sequences();
    begin += numbers.size();
    if (on_examples) on_examples(static_cast<int64_t>(begin), static_cast<int64_t>(examples.size()));
  }
  Evaluation out = sums.result();
  out.tokens = tokens;
  out.sequences = sequences;
  if (out.targets > 0 && !std::isfinite(out.loss)) throw train::NonFiniteError("task: the loss is not finite");
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return out;
}

void predict(models::EncoderModel& model, const ExampleSet& set, bool bf16, const OnPrediction& on_prediction,
             const AnswerOptions& answers) {
  check_set(model, set);
  const std::vector<int64_t> examples = chosen(set.size(), 0);
  c10::InferenceMode inference;
  train::EvaluationMode evaluation(model);
  train::AutocastGuard autocast(bf16);
  for (std::size_t begin = 0; begin < examples.size();) {
    const auto numbers = together(set, examples, begin);
    const Batch batch = make_batch(set, numbers, model.head_config(), model.encoder_config(), {}, {});
    for (const Prediction& prediction : predictions(model.head_config(), set, batch, scores_of(model, batch), answers))
      on_prediction(prediction);
    begin += numbers.size();
  }
}

std::vector<Filling> fill(models::EncoderModel& model, const std::vector<int64_t>& sequence, int64_t most) {
  const models::SpecialTokens special = special_tokens(model.encoder_config());
  std::vector<Filling> out;
  std::vector<int64_t> places;
  for (std::size_t i = 0; i < sequence.size(); ++i)
    if (sequence[i] == special.mask) places.push_back(static_cast<int64_t>(i));
  if (places.empty()) return out;
  c10::InferenceMode inference;
  train::EvaluationMode evaluation(model);
  const models::SequencePack pack{nn::index_tensor(sequence).unsqueeze(0),
                                  nn::cu_from_lengths({static_cast<int64_t>(sequence.size())})};
  at::Tensor scores = model.masked_logits(model.hidden(pack), nn::index_tensor(places)).to(at::kDouble);
  scores.index_fill_(1, nn::index_tensor({special.first, special.separator, special.padding, special.mask}),
                     -std::numeric_limits<double>::infinity());
  const int64_t count = std::min(most, scores.size(1) - models::kSpecialTokens);
  const auto [values, tokens] = at::log_softmax(scores, 1).topk(count, 1);
  for (std::size_t i = 0; i < places.size(); ++i) {
    Filling filling{places[i], {}};
    for (int64_t j = 0; j < count; ++j) {
      const auto row = static_cast<int64_t>(i);
      filling.candidates.emplace_back(tokens[row][j].item<int64_t>(), std::exp(values[row][j].item<double>()));
    }
    out.push_back(std::move(filling));
  }
  return out;
}

}  // namespace longspan::tasks
