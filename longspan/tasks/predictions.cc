#include "longspan/tasks/predictions.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/softmax.h>

#include <algorithm>
#include <cmath>

#include "longspan/nn/packing.h"

namespace longspan::tasks {

namespace {

using models::HeadKind;

std::vector<double> numbers(const at::Tensor& values) {
  const at::Tensor data = values.to(at::kDouble).contiguous();
  const double* begin = data.const_data_ptr<double>();
  return {begin, begin + data.numel()};
}

void set_labels(Prediction& prediction, HeadKind kind) {
  const auto& p = prediction.probabilities;
  if (kind == HeadKind::classification) {
    prediction.labels = {std::ranges::max_element(p) - p.begin()};
    return;
  }
  for (std::size_t label = 0; label < p.size(); ++label)
    if (p[label] >= 0.5) prediction.labels.push_back(static_cast<int64_t>(label));
}

/// Log probabilities of every row of the context as the answer's first and as its last, and of the empty answer.
struct SpanScores {
  std::vector<double> starts, ends;
  double empty_start = 0, empty_end = 0;
};

SpanScores span_scores(const at::Tensor& scores, const TokenSpan& context, int64_t first_row, bool may_be_empty) {
  at::Tensor rows = scores.narrow(0, context.begin, context.end - context.begin);
  if (may_be_empty) rows = at::cat({rows, scores.narrow(0, first_row, 1)});
  const at::Tensor log_p = at::log_softmax(rows.to(at::kDouble), 0);
  SpanScores out{numbers(log_p.select(1, 0)), numbers(log_p.select(1, 1))};
  if (may_be_empty) {
    out.empty_start = out.starts.back();
    out.empty_end = out.ends.back();
    out.starts.pop_back();
    out.ends.pop_back();
  }
  return out;
}

void set_answer(Prediction& prediction, const Example& example, std::string_view context, const SpanScores& scores,
                const models::HeadConfig& head) {
  const auto tokens = static_cast<int64_t>(scores.starts.size());
  const models::Span span = models::best_span(scores.starts.data(), scores.ends.data(), 0, tokens, head.answer_tokens);
  const double empty = scores.empty_start + scores.empty_end;
  if (head.may_be_empty && empty >= span.score) {
    prediction.probability = std::exp(empty);
    return;
  }
  prediction.probability = std::exp(span.score);
  prediction.answer =
      answer_text(example, context, {example.context.begin + span.begin, example.context.begin + span.end});
  const auto begin = static_cast<std::size_t>(example.offsets[static_cast<std::size_t>(span.begin)]);
  prediction.answer_begin = static_cast<int64_t>(std::min(context.find(prediction.answer, begin), context.size()));
}

}  // namespace

std::vector<Prediction> predictions(models::EncoderModel& model, const ExampleSet& set, const Batch& batch,
                                    const at::Tensor& hidden) {
  const models::HeadConfig& head = model.head_config();
  LONGSPAN_CHECK(head.kind != HeadKind::masked_language, "task: a masked language model has nothing to predict here");
  std::vector<Prediction> out(batch.examples.size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i].example = batch.examples[i];
  if (head.kind == HeadKind::question) {
    const at::Tensor scores = model.span_logits(hidden);
    const std::vector<int64_t> border = nn::borders(batch.pack.cu_seqlens);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const auto number = static_cast<std::size_t>(out[i].example);
      set_answer(out[i], set.examples[number], set.questions[number].context,
                 span_scores(scores, batch.contexts[i], border[i], head.may_be_empty), head);
    }
    return out;
  }
  const at::Tensor scores = model.label_logits(hidden, batch.pack.cu_seqlens).to(at::kDouble);
  const at::Tensor p = head.kind == HeadKind::classification ? at::softmax(scores, 1) : at::sigmoid(scores);
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i].probabilities = numbers(p[static_cast<int64_t>(i)]);
    set_labels(out[i], head.kind);
  }
  return out;
}

}  // namespace longspan::tasks
