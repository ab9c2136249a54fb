// What the steps of a run read.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "longspan/data/document_index.h"
#include "longspan/data/token_file.h"
#include "longspan/models/language_model.h"
#include "longspan/train/options.h"

namespace longspan::train {

/// The splits that a trainer reads; all must outlive it.
struct TrainData {
  const TokenFile* train = nullptr;
  const TokenFile* valid = nullptr;                ///< none: no validation
  const DocumentIndex* train_documents = nullptr;  ///< needed where options ask for documents
  const DocumentIndex* valid_documents = nullptr;  ///< likewise
  /// Dataset::source_bytes() of the validation split; none: one byte a token.
  std::function<int64_t(int64_t first, int64_t count)> valid_source_bytes = {};
};

/// Whether a model with these options never sees across the border of a document.
bool has_borders(const TrainOptions& options);

/// Rows [first, first + count) of the rows 0 .. batch - 1 of a step.
struct Rows {
  int64_t first = 0;
  int64_t count = 0;
};

/// Reads the rows of steps 0, 1, ... and runs the model over them. A row is the same whatever the micro-batch and the
/// process that it is worked off in, dropout of the residual branches included.
class StepReader {
 public:
  virtual ~StepReader() = default;

  /// Targets in all rows of a step: what its mean loss divides by.
  virtual int64_t targets(int64_t step) const = 0;

  /// Forgets what an earlier attempt at the step has left.
  virtual void begin_step() { read_.clear(); }

  /// The nll of every target of some rows, in order, with its graph. `dropout_seed`: of the step.
  virtual at::Tensor nll(models::LanguageModel& model, int64_t step, const Rows& rows, uint64_t dropout_seed) = 0;

  /// Tokens that nll() has read since begin_step(), in the order of use.
  const std::vector<at::Tensor>& read() const { return read_; }

  /// The step is done: what its rows left is what the next step goes on from. Without it the step can be repeated.
  virtual void commit() {}

  /// What the next step goes on from, besides its number: nothing, or the states that rows carry, by name.
  virtual models::NamedTensors state() const { return {}; }

  /// What tells its rows from those of others, where they do not come from a split (data_identity.h).
  virtual std::string identity() const { return ""; }

  /// Goes on from what state() gave; InputError naming `origin` when it cannot be of this model and these rows.
  virtual void set_state(const models::NamedTensors&, const std::string& /*origin*/) {}

 protected:
  const at::Tensor& note(const at::Tensor& tokens) {
    read_.push_back(tokens);
    return tokens;
  }

 private:
  std::vector<at::Tensor> read_;
};

/// InputError when the data are not of the model's vocabulary, or validation is asked for that they do not allow.
void check_data(const TrainData& data, const TrainOptions& options, const models::ModelConfig& config);

/// The rows that process `rank` of `processes` works off: every one as many, and those of a process follow each other.
Rows own_rows(const TrainOptions& options, int64_t rank, int64_t processes);

/// The reader that options ask for. `own`: the rows that this process works off. InputError when the data are too short
/// or lack the documents, or the model cannot carry a state.
std::unique_ptr<StepReader> make_step_reader(const TrainData& data, const TrainOptions& options,
                                             const models::LanguageModel& model, const Rows& own);

}  // namespace longspan::train
