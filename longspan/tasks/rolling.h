// The rolling experiment on examples of a task (specification B.11).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "longspan/models/rolling.h"
#include "longspan/tasks/evaluate.h"

namespace longspan::tasks {

/// What one shift changes.
struct RolledEvaluation {
  int64_t shift = 0;
  double hidden_change = 0;  ///< norm of the change of all hidden states by their norm, each at its token
  double head_change = 0;    ///< the same of what the head says: scores of labels, of tokens as an answer's ends, of
                             ///< tokens at hidden places
  Evaluation evaluation;     ///< loss and metrics of the rolled examples; without `labelled` of nothing
};

struct RollingOptions {
  models::RollingOptions how;  ///< the shift apart
  EvaluateOptions evaluate;
  bool labelled = true;  ///< whether the examples have what they are measured by
};

/// One for each shift, in the order in which they are given. A shift counts round the slots, or round each sequence's
/// own tokens where `how` has no slots. The hidden tokens of masked_language are the same for all shifts. Throws as
/// evaluate() and models::check_rolling() do.
std::vector<RolledEvaluation> evaluate_rolled(models::EncoderModel& model, const ExampleSet& set,
                                              std::span<const int64_t> shifts, const RollingOptions& options,
                                              const OnExamples& on_examples = {});

}  // namespace longspan::tasks
