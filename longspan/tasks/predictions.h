// From the scores of a batch to predictions.
#pragma once

#include <vector>

#include "longspan/tasks/batch.h"
#include "longspan/tasks/evaluate.h"

namespace longspan::tasks {

/// The predictions for a batch of `set` whose hidden states are [1, T, E]; not for masked_language.
std::vector<Prediction> predictions(models::EncoderModel& model, const ExampleSet& set, const Batch& batch,
                                    const at::Tensor& hidden);

}  // namespace longspan::tasks
