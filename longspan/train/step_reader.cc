#include "longspan/train/step_reader.h"

#include "longspan/base/check.h"
#include "longspan/data/window_sampler.h"
#include "longspan/train/carried_rows.h"
#include "longspan/train/document_packs.h"
#include "longspan/train/spans.h"

namespace longspan::train {

namespace {

/// Windows at random places.
class WindowRows final : public StepReader {
 public:
  WindowRows(const TokenFile& tokens, const TrainOptions& options)
      : tokens_(tokens), options_(options), sampler_(tokens, options.length, static_cast<uint64_t>(options.seed)) {}

  int64_t targets(int64_t) const override { return options_.batch * options_.length; }

  at::Tensor nll(models::LanguageModel& model, int64_t step, const Rows& rows, uint64_t dropout_seed) override {
    std::vector<int64_t> begins;
    for (int64_t row = rows.first; row < rows.first + rows.count; ++row) begins.push_back(sampler_.start(step, row));
    const at::Tensor read = note(read_rows(tokens_, begins, options_.length));
    models::TokenInputs inputs;
    inputs.dropout = models::DropoutKey{dropout_seed, rows.first * options_.length};
    const at::Tensor hidden = model.hidden(read.narrow(1, 0, options_.length), inputs);
    return model.nll(hidden, read.narrow(1, 1, options_.length), options_.loss_chunk).flatten();
  }

 private:
  const TokenFile& tokens_;
  TrainOptions options_;
  WindowSampler sampler_;
};

void check_vocabulary(const TokenFile& tokens, const models::ModelConfig& config) {
  LONGSPAN_CHECK(tokens.vocabulary() == config.vocabulary, tokens.path(), ": the data have a vocabulary of ",
                 tokens.vocabulary(), ", the model ", config.vocabulary);
}

}  // namespace

bool has_borders(const TrainOptions& options) {
  return options.sequences == Sequences::documents ||
         (options.sequences == Sequences::carried && options.reset_at_documents);
}

void check_data(const TrainData& data, const TrainOptions& options, const models::ModelConfig& config) {
  check_vocabulary(*data.train, config);
  if (data.valid) check_vocabulary(*data.valid, config);
  LONGSPAN_CHECK(data.valid || options.valid_every == 0, "train: valid_every is ", options.valid_every,
                 ", but there is no validation split to measure");
  LONGSPAN_CHECK(!has_borders(options) || !data.valid || data.valid_documents, data.valid->path(),
                 ": the borders of its documents are needed for validation on documents");
}

Rows own_rows(const TrainOptions& options, int64_t rank, int64_t processes) {
  const int64_t count = options.batch / processes;
  return {rank * count, count};
}

std::unique_ptr<StepReader> make_step_reader(const TrainData& data, const TrainOptions& options,
                                             const models::LanguageModel& model, const Rows& own) {
  LONGSPAN_CHECK(!has_borders(options) || data.train_documents, data.train->path(),
                 ": the borders of its documents are needed for training on documents");
  switch (options.sequences) {
    case Sequences::documents:
      return std::make_unique<DocumentPacks>(*data.train, *data.train_documents, options);
    case Sequences::carried:
      return std::make_unique<CarriedRows>(*data.train, has_borders(options) ? data.train_documents : nullptr, options,
                                           model, own);
    case Sequences::windows:
      break;
  }
  return std::make_unique<WindowRows>(*data.train, options);
}

}  // namespace longspan::train
