#include "longspan/tasks/batch.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <numeric>

#include "longspan/base/rng.h"
#include "longspan/nn/packing.h"

namespace longspan::tasks {

namespace {

using models::HeadKind;

/// Keeps the stream of hidden tokens apart from those of other users of the same seed ("mask" in ASCII).
constexpr uint64_t kMasking = 0x6D61736B;

void set_answers(Batch& batch, const Example& example, int64_t first_row, bool may_be_empty) {
  batch.contexts.push_back({first_row + example.context.begin, first_row + example.context.end});
  TokenSpan answer{-1, -1};
  if (!example.answers.empty())
    answer = {first_row + example.answers.front().begin, first_row + example.answers.front().end - 1};
  else if (may_be_empty)
    answer = {first_row, first_row};
  batch.answers.push_back(answer);
  batch.targets_in_loss += answer.begin >= 0;
}

/// Negative log-likelihood of row `target` among those that may be the place: the first row of
/// the sequence, where it counts, and the context.
at::Tensor nll_of_place(const at::Tensor& scores, const TokenSpan& context, int64_t first_row, bool with_first,
                        int64_t target) {
  at::Tensor choices = scores.narrow(0, context.begin, context.end - context.begin);
  if (with_first) choices = at::cat({scores.narrow(0, first_row, 1), choices});
  const int64_t place = target == first_row ? 0 : target - context.begin + with_first;
  return -at::log_softmax(choices, 0)[place];
}

at::Tensor answer_losses(models::EncoderModel& model, const Batch& batch, const at::Tensor& hidden) {
  const at::Tensor scores = model.span_logits(hidden).to(hidden.scalar_type());
  const std::vector<int64_t> border = nn::borders(batch.pack.cu_seqlens);
  const bool with_first = model.head_config().may_be_empty;
  std::vector<at::Tensor> out;
  for (std::size_t i = 0; i < batch.answers.size(); ++i) {
    const TokenSpan& answer = batch.answers[i];
    if (answer.begin < 0) continue;
    const auto nll = [&](int64_t column, int64_t target) {
      return nll_of_place(scores.select(1, column), batch.contexts[i], border[i], with_first, target);
    };
    out.push_back((nll(0, answer.begin) + nll(1, answer.end)) / 2);
  }
  return out.empty() ? at::zeros({0}, scores.options()) : at::stack(out);
}

/// The first token of every sequence, and what stands before its context.
at::Tensor global_tokens(const ExampleSet& set, std::span<const int64_t> examples,
                         const std::vector<int64_t>& lengths) {
  const int64_t rows = std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
  at::Tensor out = at::zeros({1, rows}, at::kBool);
  int64_t first_row = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const Example& example = set.examples[static_cast<std::size_t>(examples[i])];
    out.narrow(1, first_row, std::max<int64_t>(example.context.begin, 1)).fill_(true);
    first_row += lengths[i];
  }
  return out;
}

}  // namespace

Batch make_batch(const ExampleSet& set, std::span<const int64_t> examples, const models::HeadConfig& head,
                 const models::EncoderConfig& encoder, const MaskingOptions& masking, const MaskingKey& key) {
  Batch batch;
  batch.examples.assign(examples.begin(), examples.end());
  const models::SpecialTokens special = special_tokens(encoder);
  std::vector<int64_t> tokens, lengths, places, targets;
  const auto labels = static_cast<int64_t>(head.labels.size());
  if (set.kind == HeadKind::multi_label)
    batch.targets = at::zeros({static_cast<int64_t>(examples.size()), labels}, at::kFloat);

  for (std::size_t row = 0; row < examples.size(); ++row) {
    const Example& example = set.examples.at(static_cast<std::size_t>(examples[row]));
    const auto first_row = static_cast<int64_t>(tokens.size());
    lengths.push_back(static_cast<int64_t>(example.tokens.size()));
    switch (set.kind) {
      case HeadKind::masked_language: {
        const MaskedTokens masked =
            mask_tokens(example.tokens, example.word_starts, masking, special, encoder.vocabulary,
                        Rng(key.seed, stream_of({kMasking, key.step, key.first_row + row})));
        tokens.insert(tokens.end(), masked.tokens.begin(), masked.tokens.end());
        for (const int64_t place : masked.places) places.push_back(first_row + place);
        targets.insert(targets.end(), masked.targets.begin(), masked.targets.end());
        continue;
      }
      case HeadKind::classification:
        targets.push_back(example.labels.empty() ? -1 : example.labels.front());  // none: to predict
        break;
      case HeadKind::multi_label:
        for (const int64_t label : example.labels) batch.targets[static_cast<int64_t>(row)][label] = 1;
        break;
      case HeadKind::question:
        set_answers(batch, example, first_row, head.may_be_empty);
        break;
    }
    tokens.insert(tokens.end(), example.tokens.begin(), example.tokens.end());
  }
  if (head.global_tokens == models::GlobalTokens::task)
    batch.pack.global_tokens = global_tokens(set, examples, lengths);
  batch.pack.tokens = nn::index_tensor(tokens).unsqueeze(0);
  batch.pack.cu_seqlens = nn::cu_from_lengths(lengths);
  if (set.kind == HeadKind::masked_language) batch.places = nn::index_tensor(places);
  if (set.kind == HeadKind::masked_language || set.kind == HeadKind::classification)
    batch.targets = nn::index_tensor(targets);
  if (set.kind != HeadKind::question) batch.targets_in_loss = batch.targets.numel();
  return batch;
}

at::Tensor losses(models::EncoderModel& model, const Batch& batch, const at::Tensor& hidden, uint64_t dropout_seed,
                  int64_t first_example, int64_t chunk) {
  const auto exact = [&](const at::Tensor& scores) { return scores.to(hidden.scalar_type()); };
  const auto label_scores = [&] {
    return exact(model.label_logits(hidden, batch.pack.cu_seqlens, {dropout_seed, first_example}));
  };
  switch (model.head_config().kind) {
    case HeadKind::masked_language:
      return model.masked_nll(hidden, batch.places, batch.targets, chunk);
    case HeadKind::classification:
      return at::cross_entropy_loss(label_scores(), batch.targets, {}, at::Reduction::None);
    case HeadKind::multi_label: {
      const at::Tensor scores = label_scores();
      return at::binary_cross_entropy_with_logits(scores, batch.targets.to(scores.scalar_type()), {}, {},
                                                  at::Reduction::None)
          .flatten();
    }
    case HeadKind::question:
      return answer_losses(model, batch, hidden);
  }
  LONGSPAN_ASSERT(false, "a kind of task without a loss");
}

}  // namespace longspan::tasks
