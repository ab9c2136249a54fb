// Training on whole documents, packed.
#pragma once

#include <vector>

#include "longspan/train/spans.h"
#include "longspan/train/step_reader.h"

namespace longspan::train {

/// A row is a pack of exactly `length` tokens with their targets, all of whose sequences begin with an empty state. A
/// document of more than `length` targets is cut into pieces of `length` at fixed places. Each piece of a pack is drawn
/// so that every target of the split is as likely as any other; the last one is cut where the pack is full. The pack of
/// (seed, step, row) never depends on what was drawn before.
class DocumentPacks final : public StepReader {
 public:
  /// InputError when no document has two tokens, so that there is nothing to predict.
  DocumentPacks(const TokenFile& tokens, const DocumentIndex& documents, const TrainOptions& options);

  /// The pieces of one row, `length` tokens in all.
  std::vector<Span> row(int64_t step, int64_t row) const;

  int64_t targets(int64_t) const override { return options_.batch * options_.length; }
  at::Tensor nll(models::LanguageModel& model, int64_t step, const Rows& rows, uint64_t dropout_seed) override;

 private:
  const TokenFile& tokens_;
  const DocumentIndex& documents_;
  TrainOptions options_;
};

}  // namespace longspan::train
