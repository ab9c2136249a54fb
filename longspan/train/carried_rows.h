// Training on a split read from its beginning to its end, with the state kept from step to step.
#pragma once

#include <map>
#include <vector>

#include "longspan/train/spans.h"
#include "longspan/train/step_reader.h"

namespace longspan::train {

/// Names of carried tensors in a checkpoint begin so.
inline constexpr const char* kCarried = "carried.";

/// Truncated backpropagation through time. Row b of a step reads the next `length` tokens of the b-th of `batch` equal
/// parts of the split, from the state that its last `length` tokens left; gradients end at the step's first token.
/// After the last whole segment of the parts all rows begin anew with empty states; the up to length - 1 tokens that
/// are left of each part, and up to `batch` tokens at the end of the split, are not read.
///
/// With `documents` a state ends with its document: nothing is seen, and nothing predicted, across a border.
class CarriedRows final : public StepReader {
 public:
  /// InputError when a part is shorter than `length`, the attention cannot stream, or learned positions end before the
  /// parts do.
  CarriedRows(const TokenFile& tokens, const DocumentIndex* documents, const TrainOptions& options,
              const models::LanguageModel& model, const Rows& own);

  /// First token that a row of a step reads.
  int64_t begin(int64_t step, int64_t row) const;
  int64_t targets(int64_t step) const override;
  at::Tensor nll(models::LanguageModel& model, int64_t step, const Rows& rows, uint64_t dropout_seed) override;
  void begin_step() override;
  void commit() override;

  /// States of the own rows: "carried.positions", "carried.<layer>.<name>".
  models::NamedTensors state() const override;
  void set_state(const models::NamedTensors& tensors, const std::string& origin) override;

 private:
  at::Tensor row_nll(models::LanguageModel& model, int64_t begin, models::ModelState& state,
                     const models::DropoutKey& dropout);
  at::Tensor extended_nll(models::LanguageModel& model, models::ModelState& state, const at::Tensor& read,
                          const models::DropoutKey& dropout) const;

  const TokenFile& tokens_;
  const DocumentIndex* documents_;
  TrainOptions options_;
  Rows own_;
  int64_t part_;      // tokens of a row's part of the split
  int64_t segments_;  // steps from the beginning of the parts to their end
  models::ModelState carried_;
  std::map<int64_t, models::ModelState> next_;  // of the step under way, by the first row
};

}  // namespace longspan::train
