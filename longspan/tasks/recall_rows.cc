#include "longspan/tasks/recall_rows.h"

#include "longspan/base/check.h"
#include "longspan/models/token_inputs.h"

namespace longspan::tasks {

RecallBatch recall_batch(const std::vector<RecallRow>& rows) {
  LONGSPAN_ASSERT(!rows.empty(), "no rows");
  const auto count = static_cast<int64_t>(rows.size()), size = static_cast<int64_t>(rows.front().tokens.size());
  RecallBatch batch;
  batch.tokens = torch::empty({count, size}, torch::kLong);
  auto* tokens = batch.tokens.mutable_data_ptr<int64_t>();
  std::vector<int64_t> questions;
  for (int64_t row = 0; row < count; ++row) {
    const RecallRow& from = rows[static_cast<std::size_t>(row)];
    LONGSPAN_ASSERT(static_cast<int64_t>(from.tokens.size()) == size, "rows of different lengths");
    std::copy(from.tokens.begin(), from.tokens.end(), tokens + row * size);
    for (const int64_t place : from.questions) questions.push_back(row * (size - 1) + place);
    batch.row_questions.push_back(static_cast<int64_t>(from.questions.size()));
  }
  batch.questions = torch::tensor(questions, torch::kLong);
  return batch;
}

RecallAnswers read_questions(models::LanguageModel& model, const RecallBatch& batch,
                             const models::TokenInputs& inputs) {
  const int64_t length = batch.tokens.size(1) - 1;
  const at::Tensor hidden = model.hidden(batch.tokens.narrow(1, 0, length), inputs);
  const at::Tensor targets = batch.tokens.narrow(1, 1, length).reshape({-1});
  return {hidden.reshape({-1, hidden.size(2)}).index_select(0, batch.questions).unsqueeze(0),
          targets.index_select(0, batch.questions).unsqueeze(0)};
}

RecallRows::RecallRows(const RecallOptions& recall, const train::TrainOptions& options,
                       const models::ModelConfig& model)
    : recall_(recall), options_(options) {
  LONGSPAN_CHECK(model.vocabulary == recall_vocabulary(recall_), "recall: the task has ", recall_vocabulary(recall_),
                 " tokens, the model ", model.vocabulary);
  shape(0, 0);  // the shortest rows
}

RecallShape RecallRows::shape(int64_t step, int64_t number) const {
  return training_shape(recall_, stage_length(recall_, options_.length, step, options_.steps), RecallSplit::train,
                        static_cast<uint64_t>(options_.seed), static_cast<uint64_t>(step),
                        static_cast<uint64_t>(number));
}

int64_t RecallRows::targets(int64_t step) const {
  const int64_t sequences = options_.batch * options_.length / shape(step, 0).length;
  int64_t total = 0;
  for (int64_t i = 0; i < sequences; ++i) total += recall_questions(recall_, shape(step, i));
  return total;
}

at::Tensor RecallRows::nll(models::LanguageModel& model, int64_t step, const train::Rows& rows, uint64_t dropout_seed) {
  const int64_t fit = options_.length / shape(step, 0).length;
  std::vector<RecallRow> read;
  for (int64_t i = rows.first * fit; i < (rows.first + rows.count) * fit; ++i)
    read.push_back(recall_row(recall_, shape(step, i), RecallSplit::train, static_cast<uint64_t>(options_.seed),
                              static_cast<uint64_t>(step), static_cast<uint64_t>(i)));
  const RecallBatch batch = recall_batch(read);
  note(batch.tokens);
  models::TokenInputs inputs;
  inputs.dropout = models::DropoutKey{dropout_seed, rows.first * options_.length};
  const RecallAnswers answers = read_questions(model, batch, inputs);
  return model.nll(answers.hidden, answers.targets, options_.loss_chunk).flatten();
}

std::string RecallRows::identity() const { return "recall " + to_json(recall_).dump(); }

}  // namespace longspan::tasks
