#include "longspan/tasks/predictions.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/softmax.h>

#include <algorithm>
#include <cmath>

#include "longspan/tasks/best_spans.h"
#include "longspan/tasks/losses.h"
#include "longspan/text/utf8.h"

namespace longspan::tasks {

namespace {

using models::HeadKind;

std::vector<double> numbers(const at::Tensor& values) {
  const at::Tensor data = values.to(at::kDouble).contiguous();
  const double* begin = data.const_data_ptr<double>();
  return {begin, begin + data.numel()};
}

int64_t likeliest(const std::vector<double>& p) { return std::ranges::max_element(p) - p.begin(); }

Answer answer_at(const ScoredSpan& span, const std::string& context) {
  const std::string_view text = context;
  const auto begin = static_cast<std::size_t>(span.bytes.begin), end = static_cast<std::size_t>(span.bytes.end);
  Answer out{std::string(text.substr(begin, end - begin)), span.bytes, {}, span.score};
  out.characters.begin = static_cast<int64_t>(count_characters(text.substr(0, begin)));
  out.characters.end = out.characters.begin + static_cast<int64_t>(count_characters(out.text));
  return out;
}

void set_answer(Prediction& prediction, const models::HeadConfig& head, const Example& example,
                const std::string& context, const Batch& batch, std::size_t i, const at::Tensor& scores,
                const AnswerOptions& options) {
  const AnswerPlaces& places = batch.answers[i];
  const at::Tensor log_p = place_log_probabilities(places, scores.to(at::kDouble), head.may_be_empty);
  const std::vector<double> starts = numbers(log_p.select(1, 0)), ends = numbers(log_p.select(1, 1));
  BestSpans spans(options.best);
  auto place = static_cast<std::size_t>(head.may_be_empty);
  for (std::size_t window = 0; window < places.contexts.size(); ++window) {
    const auto read = batch.read[static_cast<std::size_t>(batch.borders[i]) + window];
    const Sequence& sequence = example.windows[static_cast<std::size_t>(read)];
    const int64_t tokens = places.contexts[window].size();
    spans.add(starts.data() + place, ends.data() + place, tokens,
              options.longest > 0 ? options.longest : head.answer_tokens, [&](TokenSpan span) {
                return answer_bytes(sequence, context,
                                    {sequence.context.begin + span.begin, sequence.context.begin + span.end});
              });
    place += static_cast<std::size_t>(tokens);
  }
  for (const ScoredSpan& span : spans.sorted()) prediction.best.push_back(answer_at(span, context));
  if (!prediction.best.empty()) prediction.answer = prediction.best.front();
  if (!head.may_be_empty) return;
  Answer empty;
  empty.score = starts[0] + ends[0];
  if (!prediction.best.empty()) prediction.no_answer_score = empty.score - prediction.best.front().score;
  if (!prediction.no_answer_score || *prediction.no_answer_score > options.threshold) prediction.answer = empty;
}

}  // namespace

double Answer::probability() const { return std::exp(score); }

std::vector<Prediction> predictions(const models::HeadConfig& head, const ExampleSet& set, const Batch& batch,
                                    const at::Tensor& scores, const AnswerOptions& options) {
  LONGSPAN_CHECK(head.kind != HeadKind::masked_language, "task: a masked language model has nothing to predict here");
  LONGSPAN_CHECK(options.longest >= 0 && options.best >= 1,
                 "task: longest must be at least 0 and best at least 1, got ", options.longest, " and ", options.best);
  std::vector<Prediction> out(batch.examples.size());
  at::Tensor p;
  if (head.kind == HeadKind::classification) p = at::softmax(label_scores(batch, scores).to(at::kDouble), 1);
  if (head.kind == HeadKind::multi_label) p = at::sigmoid(label_scores(batch, scores).to(at::kDouble));
  for (std::size_t i = 0; i < out.size(); ++i) {
    Prediction& prediction = out[i];
    prediction.example = batch.examples[i];
    const auto number = static_cast<std::size_t>(prediction.example);
    if (head.kind == HeadKind::question) {
      set_answer(prediction, head, set.examples[number], set.questions[number].context, batch, i, scores, options);
      continue;
    }
    prediction.probabilities =
        numbers(head.kind == HeadKind::choice ? at::softmax(candidate_scores(batch, scores, i).to(at::kDouble), 0)
                                              : p[static_cast<int64_t>(i)]);
    if (head.kind != HeadKind::multi_label) {
      prediction.labels = {likeliest(prediction.probabilities)};
      continue;
    }
    for (std::size_t label = 0; label < prediction.probabilities.size(); ++label)
      if (prediction.probabilities[label] >= 0.5) prediction.labels.push_back(static_cast<int64_t>(label));
  }
  return out;
}

}  // namespace longspan::tasks
