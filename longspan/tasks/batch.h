// Examples side by side.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "longspan/models/encoder_model.h"
#include "longspan/tasks/examples.h"
#include "longspan/tasks/options.h"

namespace longspan::tasks {

/// What decides what is drawn for an example, the tokens that are hidden and the windows that are read: rows of a step
/// in training, {0, example} in an evaluation.
struct DrawKey {
  uint64_t seed = 0;
  uint64_t step = 0;
  uint64_t first_row = 0;  ///< of the batch's first example, the others follow
};

/// question: where in the pack an answer's first and last token may stand, and where they do.
struct AnswerPlaces {
  std::vector<TokenSpan> contexts;    ///< rows of each window's context
  std::vector<int64_t> first_rows;    ///< row of each window's first token; together they stand for the empty answer
  std::vector<int64_t> begins, ends;  ///< rows of the first and of the last token of what is to be found
  bool empty_is_right = false;        ///< instead
  bool has_target() const { return empty_is_right || !begins.empty(); }
};

struct Batch {
  models::SequencePack pack;      ///< the windows of the first example, those of the next one, ...
  std::vector<int64_t> examples;  ///< numbers in their set
  std::vector<int64_t> borders;   ///< sequences [borders[i], borders[i + 1]) of the pack are windows of example i
  std::vector<int64_t> read;      ///< number of each sequence among the windows of its example
  at::Tensor places;              ///< rows of the pack: masked_language the hidden tokens [P]; choice the candidates of
                                  ///< every sequence [C]
  at::Tensor targets;             ///< masked_language [P], classification and choice [S]: int64, -1 for unknown;
                                  ///< multi_label [S, labels]: 0 or 1
  std::vector<int64_t> candidates;    ///< choice: how many each example has
  std::vector<AnswerPlaces> answers;  ///< question: of each example
  int64_t targets_in_loss = 0;        ///< how many numbers losses() gives

  int64_t sequences() const { return borders.empty() ? 0 : borders.back(); }
};

struct BatchOptions {
  MaskingOptions masking;
  int64_t train_windows = 0;  ///< see WindowOptions; 0: all windows are read
  LearnAnswers learn_answers = LearnAnswers::first;
};

/// The batch of some examples. `head`: labels and whether answers may be empty.
Batch make_batch(const ExampleSet& set, std::span<const int64_t> examples, const models::HeadConfig& head,
                 const models::EncoderConfig& encoder, const BatchOptions& options, const DrawKey& key);

/// Sequences [begin, end) of a batch: their pack, and the places in it.
Batch part_of(const Batch& batch, int64_t begin, int64_t end);

}  // namespace longspan::tasks
