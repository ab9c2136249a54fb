#include "longspan/tasks/losses.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

#include "longspan/nn/packing.h"

namespace longspan::tasks {

namespace {

using models::HeadKind;

/// Number of a row of the pack among the places of place_log_probabilities().
int64_t place_of(const AnswerPlaces& places, int64_t row, bool may_be_empty) {
  int64_t before = may_be_empty;
  for (const TokenSpan& context : places.contexts) {
    if (row >= context.begin && row < context.end) return before + row - context.begin;
    before += context.size();
  }
  LONGSPAN_ASSERT(false, "an answer outside of the contexts");
}

/// -log of the probability of any of the rows.
at::Tensor nll_of(const AnswerPlaces& places, const at::Tensor& log_p, const std::vector<int64_t>& rows,
                  bool may_be_empty) {
  if (places.empty_is_right) return -log_p[0];
  std::vector<int64_t> right;
  for (const int64_t row : rows) right.push_back(place_of(places, row, may_be_empty));
  return -at::logsumexp(log_p.index_select(0, nn::index_tensor(right)), {0});
}

at::Tensor answer_losses(const Batch& batch, const at::Tensor& scores, bool may_be_empty) {
  std::vector<at::Tensor> out;
  for (const AnswerPlaces& places : batch.answers) {
    if (!places.has_target()) continue;
    const at::Tensor log_p = place_log_probabilities(places, scores, may_be_empty);
    out.push_back((nll_of(places, log_p.select(1, 0), places.begins, may_be_empty) +
                   nll_of(places, log_p.select(1, 1), places.ends, may_be_empty)) /
                  2);
  }
  return out.empty() ? at::zeros({0}, scores.options()) : at::stack(out);
}

at::Tensor choice_losses(const Batch& batch, const at::Tensor& scores) {
  std::vector<at::Tensor> out;
  for (std::size_t i = 0; i < batch.examples.size(); ++i)
    out.push_back(-at::log_softmax(candidate_scores(batch, scores, i),
                                   0)[batch.targets[static_cast<int64_t>(i)].item<int64_t>()]);
  return at::stack(out);
}

}  // namespace

at::Tensor head_scores(models::EncoderModel& model, const Batch& batch, const at::Tensor& hidden, uint64_t dropout_seed,
                       int64_t first_sequence) {
  const auto exact = [&](const at::Tensor& scores) { return scores.to(hidden.scalar_type()); };
  switch (model.head_config().kind) {
    case HeadKind::classification:
    case HeadKind::multi_label:
      return exact(model.label_logits(hidden, batch.pack.cu_seqlens, {dropout_seed, first_sequence}));
    case HeadKind::question:
      return exact(model.span_logits(hidden));
    case HeadKind::choice:
      return exact(model.choice_logits(hidden, batch.places));
    case HeadKind::masked_language:
      break;
  }
  LONGSPAN_ASSERT(false, "a kind of task without scores of its sequences");
}

at::Tensor label_scores(const Batch& batch, const at::Tensor& scores) {
  const auto examples = static_cast<int64_t>(batch.examples.size());
  if (batch.sequences() == examples) return scores;
  std::vector<at::Tensor> means;
  for (std::size_t i = 0; i < batch.examples.size(); ++i)
    means.push_back(scores.narrow(0, batch.borders[i], batch.borders[i + 1] - batch.borders[i]).mean(0));
  return at::stack(means);
}

at::Tensor candidate_scores(const Batch& batch, const at::Tensor& scores, std::size_t i) {
  // All windows of an example have the same candidates.
  int64_t first = 0;
  for (std::size_t j = 0; j < i; ++j) first += batch.candidates[j] * (batch.borders[j + 1] - batch.borders[j]);
  const int64_t windows = batch.borders[i + 1] - batch.borders[i];
  return scores.narrow(0, first, windows * batch.candidates[i]).view({windows, batch.candidates[i]}).mean(0);
}

at::Tensor place_log_probabilities(const AnswerPlaces& places, const at::Tensor& scores, bool may_be_empty) {
  std::vector<at::Tensor> rows;
  if (may_be_empty) rows.push_back(scores.index_select(0, nn::index_tensor(places.first_rows)).mean(0, true));
  for (const TokenSpan& context : places.contexts) rows.push_back(scores.narrow(0, context.begin, context.size()));
  return at::log_softmax(rows.size() == 1 ? rows.front() : at::cat(rows), 0);
}

at::Tensor losses(const models::HeadConfig& head, const Batch& batch, const at::Tensor& scores) {
  switch (head.kind) {
    case HeadKind::classification:
      return at::cross_entropy_loss(label_scores(batch, scores), batch.targets, {}, at::Reduction::None);
    case HeadKind::multi_label:
      return at::binary_cross_entropy_with_logits(label_scores(batch, scores), batch.targets.to(scores.scalar_type()),
                                                  {}, {}, at::Reduction::None)
          .flatten();
    case HeadKind::question:
      return answer_losses(batch, scores, head.may_be_empty);
    case HeadKind::choice:
      return choice_losses(batch, scores);
    case HeadKind::masked_language:
      break;
  }
  LONGSPAN_ASSERT(false, "a kind of task without a loss of scores");
}

at::Tensor losses(models::EncoderModel& model, const Batch& batch, const at::Tensor& hidden, uint64_t dropout_seed,
                  int64_t first_sequence, int64_t chunk) {
  if (model.head_config().kind == HeadKind::masked_language)
    return model.masked_nll(hidden, batch.places, batch.targets, chunk);
  return losses(model.head_config(), batch, head_scores(model, batch, hidden, dropout_seed, first_sequence));
}

}  // namespace longspan::tasks
