// What the head of a model makes of a batch, and how far that is from what is right.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "longspan/models/encoder_model.h"
#include "longspan/tasks/batch.h"

namespace longspan::tasks {

/// Scores of every sequence, one behind the other, with their graph: classification and multi_label [sequences,
/// labels], question [rows of the pack, 2] for the first and the last token of an answer, choice [candidates of every
/// sequence]. Those of two parts of a batch, one behind the other, are those of the whole. Not for masked_language.
///
/// `first_sequence`: number of the batch's first sequence in its step, for dropout in the head.
at::Tensor head_scores(models::EncoderModel& model, const Batch& batch, const at::Tensor& hidden,
                       uint64_t dropout_seed = 0, int64_t first_sequence = 0);

/// Scores of the labels of every example [S, labels]: the mean over its windows.
at::Tensor label_scores(const Batch& batch, const at::Tensor& scores);
/// Scores of the candidates of example `i` [candidates]: the mean over its windows.
at::Tensor candidate_scores(const Batch& batch, const at::Tensor& scores, std::size_t i);

/// Log probabilities of the places where an answer begins (column 0) and where its last token stands (column 1), [C,
/// 2]: the tokens of the contexts of all windows together, and before them, where it `may_be_empty`, one for the empty
/// answer, whose score is the mean of those of the windows' first tokens.
at::Tensor place_log_probabilities(const AnswerPlaces& places, const at::Tensor& scores, bool may_be_empty);

/// The losses that a step's mean is over, in nats. classification and choice: the nll of every example's label or
/// answer; multi_label: the binary cross entropy of every example and label; question: half of -log of the probability
/// that the answer begins where it does, and half of that for its last token. Several right places: the sum of their
/// probabilities.
at::Tensor losses(const models::HeadConfig& head, const Batch& batch, const at::Tensor& scores);

/// The same from the hidden states; masked_language: the nll of every hidden token, `chunk` as chunked_nll().
at::Tensor losses(models::EncoderModel& model, const Batch& batch, const at::Tensor& hidden, uint64_t dropout_seed,
                  int64_t first_sequence, int64_t chunk);

}  // namespace longspan::tasks
