#include "longspan/tasks/recall.h"

#include <chrono>
#include <cmath>

#include "longspan/base/check.h"
#include "longspan/base/rng.h"
#include "longspan/tasks/recall_rows.h"
#include "longspan/train/evaluation_mode.h"
#include "longspan/train/sums.h"

namespace longspan::tasks {

namespace {

constexpr int64_t kLeastRows = 16;  // for a spread

/// Sums over rows.
class RowSums {
 public:
  /// `right` and `nll`: of every question, in order.
  void add(const RecallBatch& batch, int64_t fact, const at::Tensor& right, const at::Tensor& nll) {
    loss_ += train::ordered_sum(nll);
    const bool* correct = right.const_data_ptr<bool>();
    for (const int64_t questions : batch.row_questions) {
      int64_t known = 0;
      for (int64_t begin = 0; begin < questions; begin += fact) {
        int64_t of_fact = 0;
        for (int64_t i = begin; i < begin + fact; ++i) of_fact += correct[i];
        known += of_fact;
        whole_ += of_fact == fact;
        ++facts_;
      }
      correct += questions;
      rows_.emplace_back(known, questions);
    }
  }

  RecallResult result() const {
    RecallResult out;
    out.rows = static_cast<int64_t>(rows_.size());
    double known = 0;
    for (const auto& [right, questions] : rows_) {
      known += static_cast<double>(right);
      out.questions += questions;
    }
    const auto all = static_cast<double>(out.questions), rows = static_cast<double>(out.rows);
    out.accuracy = known / all;
    out.whole = static_cast<double>(whole_) / static_cast<double>(facts_);
    out.loss = loss_ / all;
    // Of a ratio of sums over rows, by the spread of right - accuracy * questions.
    double squares = 0;
    for (const auto& [right, questions] : rows_) {
      const double off = static_cast<double>(right) - out.accuracy * static_cast<double>(questions);
      squares += off * off;
    }
    out.standard_error = std::sqrt(squares * rows / (rows - 1)) / all;
    return out;
  }

 private:
  std::vector<std::pair<int64_t, int64_t>> rows_;  ///< right, questions
  double loss_ = 0;
  int64_t whole_ = 0, facts_ = 0;
};

RecallResult measure(models::LanguageModel& model, const RecallOptions& recall, const RecallEvaluation& options,
                     int64_t rows, int64_t length, const std::function<RecallRow(int64_t)>& row,
                     const std::function<void(int64_t, int64_t)>& on_rows) {
  LONGSPAN_CHECK(model.config().vocabulary == recall_vocabulary(recall), "recall: the task has ",
                 recall_vocabulary(recall), " tokens, the model ", model.config().vocabulary);
  const int64_t together = std::max<int64_t>(options.piece / length, 1);
  c10::InferenceMode inference;
  train::EvaluationMode evaluation(model);
  const auto start = std::chrono::steady_clock::now();
  RowSums sums;
  for (int64_t first = 0; first < rows; first += together) {
    std::vector<RecallRow> read;
    for (int64_t i = first; i < std::min(first + together, rows); ++i) read.push_back(row(i));
    const RecallBatch batch = recall_batch(read);
    const RecallAnswers answers = read_questions(model, batch);
    const at::Tensor nll = model.nll(answers.hidden, answers.targets).flatten();
    if (!std::isfinite(train::ordered_sum(nll)))
      throw train::NonFiniteError(
          str_cat("recall: the loss is not finite on the rows from ", first, " of ", length, " tokens"));
    const at::Tensor right = model.logits(answers.hidden).argmax(-1).eq(answers.targets).flatten();
    sums.add(batch, recall.fact, right, nll);
    if (on_rows) on_rows(std::min(first + together, rows), rows);
  }
  RecallResult result = sums.result();
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

int64_t rows_for(int64_t questions, int64_t of_a_row) {
  return std::max((questions + of_a_row - 1) / of_a_row, kLeastRows);
}

}  // namespace

models::ModelConfig recall_model(const RecallOptions& recall) {
  models::ModelConfig config;
  config.layers = 2;
  config.vocabulary = recall_vocabulary(recall);
  return config;
}

train::TrainOptions recall_training() {
  train::TrainOptions options;
  options.steps = 400;
  options.batch = 13;
  options.length = 256;
  options.learning_rate = 4e-3;
  options.warmup = 40;
  options.autocast = train::Autocast::none;
  return options;
}

std::unique_ptr<train::Trainer> recall_trainer(std::shared_ptr<models::LanguageModel> model,
                                               const RecallOptions& recall, const train::TrainOptions& options) {
  train::validate(options);
  auto rows = std::make_unique<RecallRows>(recall, options, model->config());
  return std::make_unique<train::Trainer>(std::move(model), std::move(rows), options);
}

RecallResult evaluate_recall(models::LanguageModel& model, const RecallOptions& recall, int64_t pairs, int64_t length,
                             const RecallEvaluation& options, const std::function<void(int64_t, int64_t)>& on_rows) {
  const RecallShape shape = measured_shape(recall, pairs, length, options.span);
  const int64_t rows = rows_for(options.questions, recall_questions(recall, shape));
  const uint64_t stream = stream_of({static_cast<uint64_t>(pairs), static_cast<uint64_t>(length)});
  RecallResult result = measure(
      model, recall, options, rows, shape.length,
      [&](int64_t i) {
        return recall_row(recall, shape, RecallSplit::test, options.seed, stream, static_cast<uint64_t>(i));
      },
      on_rows);
  result.pairs = shape.pairs;
  result.length = length;
  return result;
}

RecallResult validate_recall(models::LanguageModel& model, const RecallOptions& recall, int64_t length,
                             const RecallEvaluation& options) {
  const auto split = RecallSplit::valid;
  int64_t rows = 0;
  for (int64_t questions = 0; questions < options.questions || rows < kLeastRows; ++rows)
    questions +=
        recall_questions(recall, training_shape(recall, length, split, options.seed, 0, static_cast<uint64_t>(rows)));
  RecallResult result =
      measure(model, recall, options, rows, length,
              [&](int64_t i) {
                const auto number = static_cast<uint64_t>(i);
                return recall_row(recall, training_shape(recall, length, split, options.seed, 0, number), split,
                                  options.seed, 0, number);
              },
              {});
  result.length = length;
  return result;
}

}  // namespace longspan::tasks
