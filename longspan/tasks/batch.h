// Examples side by side, and what a model makes of them.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "longspan/models/encoder_model.h"
#include "longspan/tasks/examples.h"
#include "longspan/tasks/options.h"

namespace longspan::tasks {

/// What decides which tokens of a row are hidden: rows of a step in training, {0, example} in an evaluation.
struct MaskingKey {
  uint64_t seed = 0;
  uint64_t step = 0;
  uint64_t first_row = 0;  ///< of the batch's first example, the others follow
};

struct Batch {
  models::SequencePack pack;
  std::vector<int64_t> examples;  ///< numbers in their set
  at::Tensor places;              ///< masked_language: rows of the pack to be predicted [P]
  at::Tensor targets;             ///< masked_language [P], classification [S]: int64; multi_label [S, labels]: 0 or 1
  /// question: rows of the pack where the answer begins and where its last token stands; the sequence's first row for
  /// the empty answer, -1 where there is nothing to learn.
  std::vector<TokenSpan> answers;
  std::vector<TokenSpan> contexts;  ///< question: rows of the context
  int64_t targets_in_loss = 0;      ///< how many numbers losses() gives
};

/// The batch of some examples. `head`: labels and whether answers may be empty.
Batch make_batch(const ExampleSet& set, std::span<const int64_t> examples, const models::HeadConfig& head,
                 const models::EncoderConfig& encoder, const MaskingOptions& masking, const MaskingKey& key);

/// The losses that a step's mean is over, in nats, with their graph: masked_language the nll of every hidden token;
/// classification that of every label; multi_label the binary cross entropy of every example and label; question half
/// the nll of the answer's first token and half that of its last one, both among the tokens of the context (and the
/// first token of the sequence, which stands for the empty answer, where that may be).
///
/// `first_example`: number of the batch's first example in its step, for dropout in the head.
at::Tensor losses(models::EncoderModel& model, const Batch& batch, const at::Tensor& hidden, uint64_t dropout_seed,
                  int64_t first_example, int64_t chunk);

}  // namespace longspan::tasks
