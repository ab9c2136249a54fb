#include "longspan/tasks/batch.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

#include "longspan/base/rng.h"
#include "longspan/nn/packing.h"

namespace longspan::tasks {

namespace {

using models::HeadKind;

/// Keep the streams of hidden tokens and of windows apart from those of other users of the same seed ("mask" and "wind"
/// in ASCII).
constexpr uint64_t kMasking = 0x6D61736B;
constexpr uint64_t kWindows = 0x77696E64;

void add_answers(AnswerPlaces& places, const Sequence& window, int64_t first_row, LearnAnswers learn, int64_t first) {
  places.contexts.push_back({first_row + window.context.begin, first_row + window.context.end});
  places.first_rows.push_back(first_row);
  for (const HeldAnswer& answer : window.answers) {
    if (learn == LearnAnswers::first && answer.number != first) continue;
    places.begins.push_back(first_row + answer.tokens.begin);
    places.ends.push_back(first_row + answer.tokens.end - 1);
  }
}

/// The first token of every sequence, and what stands before its context.
at::Tensor global_tokens(const std::vector<const Sequence*>& windows, int64_t rows) {
  at::Tensor out = at::zeros({1, rows}, at::kBool);
  int64_t first_row = 0;
  for (const Sequence* window : windows) {
    out.narrow(1, first_row, std::max<int64_t>(window->context.begin, 1)).fill_(true);
    first_row += static_cast<int64_t>(window->tokens.size());
  }
  return out;
}

}  // namespace

Batch make_batch(const ExampleSet& set, std::span<const int64_t> examples, const models::HeadConfig& head,
                 const models::EncoderConfig& encoder, const BatchOptions& options, const DrawKey& key) {
  Batch batch;
  batch.examples.assign(examples.begin(), examples.end());
  batch.borders = {0};
  const models::SpecialTokens special = special_tokens(encoder);
  std::vector<const Sequence*> windows;
  std::vector<int64_t> tokens, lengths, places, targets;
  if (set.kind == HeadKind::multi_label)
    batch.targets =
        at::zeros({static_cast<int64_t>(examples.size()), static_cast<int64_t>(head.labels.size())}, at::kFloat);

  for (std::size_t row = 0; row < examples.size(); ++row) {
    const auto number = static_cast<std::size_t>(examples[row]);
    const Example& example = set.examples.at(number);
    const auto stream = [&](uint64_t purpose) { return stream_of({purpose, key.step, key.first_row + row}); };
    const int64_t first_answer = example.first_answer();
    AnswerPlaces answers;
    for (const int64_t read : drawn_windows(static_cast<int64_t>(example.windows.size()), options.train_windows,
                                            example.answering(options.learn_answers), key.seed, stream(kWindows))) {
      const Sequence& window = example.windows[static_cast<std::size_t>(read)];
      const auto first_row = static_cast<int64_t>(tokens.size());
      windows.push_back(&window);
      lengths.push_back(static_cast<int64_t>(window.tokens.size()));
      batch.read.push_back(read);
      if (set.kind == HeadKind::masked_language) {
        const MaskedTokens masked = mask_tokens(window.tokens, window.word_starts, options.masking, special,
                                                encoder.vocabulary, Rng(key.seed, stream(kMasking)));
        tokens.insert(tokens.end(), masked.tokens.begin(), masked.tokens.end());
        for (const int64_t place : masked.places) places.push_back(first_row + place);
        targets.insert(targets.end(), masked.targets.begin(), masked.targets.end());
        continue;
      }
      tokens.insert(tokens.end(), window.tokens.begin(), window.tokens.end());
      for (const int64_t place : window.candidates) places.push_back(first_row + place);
      if (set.kind == HeadKind::question) add_answers(answers, window, first_row, options.learn_answers, first_answer);
    }
    batch.borders.push_back(static_cast<int64_t>(lengths.size()));
    if (set.kind == HeadKind::classification || set.kind == HeadKind::choice)
      targets.push_back(example.labels.empty() ? -1 : example.labels.front());  // none: to predict
    if (set.kind == HeadKind::choice)
      batch.candidates.push_back(static_cast<int64_t>(example.windows.front().candidates.size()));
    if (set.kind == HeadKind::multi_label)
      for (const int64_t label : example.labels) batch.targets[static_cast<int64_t>(row)][label] = 1;
    if (set.kind == HeadKind::question) {
      // An answer that no sequence holds is none in sight; one of which only the words are known may be anywhere.
      answers.empty_is_right = head.may_be_empty && first_answer < 0 && set.questions[number].aliases.empty();
      batch.targets_in_loss += answers.has_target();
      batch.answers.push_back(std::move(answers));
    }
  }
  if (head.global_tokens == models::GlobalTokens::task)
    batch.pack.global_tokens = global_tokens(windows, static_cast<int64_t>(tokens.size()));
  batch.pack.tokens = nn::index_tensor(tokens).unsqueeze(0);
  batch.pack.cu_seqlens = nn::cu_from_lengths(lengths);
  if (set.kind == HeadKind::masked_language || set.kind == HeadKind::choice) batch.places = nn::index_tensor(places);
  if (set.kind != HeadKind::multi_label && set.kind != HeadKind::question) batch.targets = nn::index_tensor(targets);
  if (set.kind != HeadKind::question) batch.targets_in_loss = batch.targets.numel();
  return batch;
}

Batch part_of(const Batch& batch, int64_t begin, int64_t end) {
  Batch part;
  const at::Tensor& cu = batch.pack.cu_seqlens;
  const int64_t first_row = cu[begin].item<int64_t>(), rows = cu[end].item<int64_t>() - first_row;
  part.pack.tokens = batch.pack.tokens.narrow(1, first_row, rows);
  part.pack.cu_seqlens = cu.narrow(0, begin, end - begin + 1) - first_row;
  if (batch.pack.positions) part.pack.positions = batch.pack.positions->narrow(1, first_row, rows);
  if (batch.pack.global_tokens) part.pack.global_tokens = batch.pack.global_tokens->narrow(1, first_row, rows);
  if (batch.places.defined()) {
    const at::Tensor places = batch.places - first_row;
    part.places = places.masked_select((places >= 0).logical_and(places < rows));
  }
  return part;
}

}  // namespace longspan::tasks
