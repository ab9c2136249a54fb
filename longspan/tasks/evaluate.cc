#include "longspan/tasks/evaluate.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/topk.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <utility>

#include "longspan/nn/packing.h"
#include "longspan/tasks/evaluation_sums.h"
#include "longspan/train/evaluation_mode.h"
#include "longspan/train/train.h"

namespace longspan::tasks {

using models::HeadKind;

Evaluation evaluate(models::EncoderModel& model, const ExampleSet& set, const EvaluateOptions& options,
                    const OnExamples& on_examples) {
  check_labels(set, "the examples");
  const auto start = std::chrono::steady_clock::now();
  EvaluationSums sums(model, set, options);
  const ReadCounts read = each_batch(model, set, options, on_examples, [&](const Batch& batch) {
    if (set.kind == HeadKind::masked_language)
      sums.add_masked(batch, model.hidden(batch.pack));
    else
      sums.add_scores(batch, scores_in_parts(model, batch));
  });
  Evaluation out = sums.result();
  out.tokens = read.tokens;
  out.sequences = read.sequences;
  if (out.targets > 0 && !std::isfinite(out.loss)) throw train::NonFiniteError("task: the loss is not finite");
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return out;
}

void predict(models::EncoderModel& model, const ExampleSet& set, bool bf16, const OnPrediction& on_prediction,
             const AnswerOptions& answers) {
  EvaluateOptions options;
  options.autocast = bf16;
  each_batch(model, set, options, {}, [&](const Batch& batch) {
    for (const Prediction& prediction :
         predictions(model.head_config(), set, batch, scores_in_parts(model, batch), answers))
      on_prediction(prediction);
  });
}

std::vector<Filling> fill(models::EncoderModel& model, const std::vector<int64_t>& sequence, int64_t most) {
  const models::SpecialTokens special = special_tokens(model.encoder_config());
  std::vector<Filling> out;
  std::vector<int64_t> places;
  for (std::size_t i = 0; i < sequence.size(); ++i)
    if (sequence[i] == special.mask) places.push_back(static_cast<int64_t>(i));
  if (places.empty()) return out;
  c10::InferenceMode inference;
  train::EvaluationMode evaluation(model);
  const models::SequencePack pack{nn::index_tensor(sequence).unsqueeze(0),
                                  nn::cu_from_lengths({static_cast<int64_t>(sequence.size())})};
  at::Tensor scores = model.masked_logits(model.hidden(pack), nn::index_tensor(places)).to(at::kDouble);
  scores.index_fill_(1, nn::index_tensor({special.first, special.separator, special.padding, special.mask}),
                     -std::numeric_limits<double>::infinity());
  const int64_t count = std::min(most, scores.size(1) - models::kSpecialTokens);
  const auto [values, tokens] = at::log_softmax(scores, 1).topk(count, 1);
  for (std::size_t i = 0; i < places.size(); ++i) {
    Filling filling{places[i], {}};
    for (int64_t j = 0; j < count; ++j) {
      const auto row = static_cast<int64_t>(i);
      filling.candidates.emplace_back(tokens[row][j].item<int64_t>(), std::exp(values[row][j].item<double>()));
    }
    out.push_back(std::move(filling));
  }
  return out;
}

}  // namespace longspan::tasks
