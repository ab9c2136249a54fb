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

#include "longspan/metrics/answers.h"
#include "longspan/metrics/labels.h"
#include "longspan/metrics/likelihood.h"
#include "longspan/nn/packing.h"
#include "longspan/tasks/batch.h"
#include "longspan/tasks/predictions.h"
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
    tokens += static_cast<int64_t>(set.examples[static_cast<std::size_t>(examples[end])].tokens.size());
    if (end > begin && tokens > kTokensTogether) break;
  }
  return std::span(examples).subspan(begin, end - begin);
}

/// Sums over the batches of an evaluation.
class Sums {
 public:
  Sums(models::EncoderModel& model, const ExampleSet& set) : model_(model), set_(set) {}

  void add(const Batch& batch, const at::Tensor& hidden) {
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

  Evaluation result() const {
    Evaluation out;
    out.examples = examples_;
    out.targets = targets_;
    out.loss = loss_ / static_cast<double>(targets_);
    const auto share = [](double sum, int64_t of) { return of > 0 ? sum / static_cast<double>(of) : 0; };
    const auto counts = metrics::count_labels(predicted_, expected_, static_cast<int64_t>(model_.head_config().labels.size()));
    switch (set_.kind) {
      case HeadKind::masked_language:
        out.metrics = {{"accuracy", share(static_cast<double>(right_), targets_)},
                       {"perplexity", metrics::perplexity(out.loss)},
                       {"bits_per_token", metrics::masked_bpc(out.loss)}};
        break;
      case HeadKind::classification:
        out.metrics = {{"accuracy", metrics::exact_share(predicted_, expected_)},
                       {"macro_f1", metrics::macro_f1(counts)},
                       {"micro_f1", metrics::micro_f1(counts)}};
        break;
      case HeadKind::multi_label:
        out.metrics = {{"macro_f1", metrics::macro_f1(counts)},
                       {"micro_f1", metrics::micro_f1(counts)},
                       {"exact_match", metrics::exact_share(predicted_, expected_)}};
        break;
      case HeadKind::question:
        out.metrics = {{"exact_match", share(exact_, examples_)}, {"f1", share(f1_, examples_)}};
        break;
    }
    return out;
  }

 private:
  void add_masked(const Batch& batch, const at::Tensor& hidden) {
    examples_ += static_cast<int64_t>(batch.examples.size());
    targets_ += batch.targets_in_loss;
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

  void add_answer(const std::string& answer, const QuestionRecord& record) {
    std::vector<std::string> right;
    for (const AnswerSpan& span : record.answers)
      right.push_back(
          record.context.substr(static_cast<std::size_t>(span.begin), static_cast<std::size_t>(span.end - span.begin)));
    exact_ += metrics::exact_match(answer, right);
    f1_ += metrics::answer_f1(answer, right);
  }

  models::EncoderModel& model_;
  const ExampleSet& set_;
  double loss_ = 0, exact_ = 0, f1_ = 0;
  int64_t targets_ = 0, examples_ = 0, right_ = 0;
  std::vector<std::vector<int64_t>> predicted_, expected_;
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
  Sums sums(model, set);
  int64_t tokens = 0;
  for (std::size_t begin = 0; begin < examples.size();) {
    const auto numbers = together(set, examples, begin);
    // What is hidden depends on the example, not on what it is read with.
    const Batch batch = make_batch(set, numbers, model.head_config(), model.encoder_config(), options.masking,
                                   {options.seed, 0, static_cast<uint64_t>(begin)});
    sums.add(batch, model.hidden(batch.pack));
    tokens += batch.pack.tokens.size(1);
    begin += numbers.size();
    if (on_examples) on_examples(static_cast<int64_t>(begin), static_cast<int64_t>(examples.size()));
  }
  Evaluation out = sums.result();
  out.tokens = tokens;
  if (out.targets > 0 && !std::isfinite(out.loss)) throw train::NonFiniteError("task: the loss is not finite");
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return out;
}

void predict(models::EncoderModel& model, const ExampleSet& set, bool bf16, const OnPrediction& on_prediction) {
  check_set(model, set);
  const std::vector<int64_t> examples = chosen(set.size(), 0);
  c10::InferenceMode inference;
  train::EvaluationMode evaluation(model);
  train::AutocastGuard autocast(bf16);
  for (std::size_t begin = 0; begin < examples.size();) {
    const auto numbers = together(set, examples, begin);
    const Batch batch = make_batch(set, numbers, model.head_config(), model.encoder_config(), {}, {});
    for (const Prediction& prediction : predictions(model, set, batch, model.hidden(batch.pack)))
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
