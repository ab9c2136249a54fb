// How a model of a task is trained: one struct, complete in `config.json` as "task".
#pragma once

#include <cstdint>
#include <string>

#include "longspan/base/fields.h"
#include "longspan/io/json.h"
#include "longspan/models/encoder_heads.h"
#include "longspan/tasks/masking.h"
#include "longspan/tasks/windows.h"
#include "longspan/train/options.h"

namespace longspan::tasks {

/// What is usual for encoders: a small rate, little decay, a slow second moment, nothing left at the end.
train::TrainOptions usual_training();

/// What the best checkpoint is the best by; of equal ones the lower loss decides.
enum class BestBy { metric, loss, accuracy, macro_f1, micro_f1, exact_match, f1 };

/// The name of the metric that is meant for a kind of task, "" for the loss. BestBy::metric: accuracy of a
/// classification, macro F1 of several labels, F1 of answers; of hidden tokens the loss, of which perplexity and bits
/// are other forms. InputError for a metric that the kind has not.
std::string metric_to_go_by(BestBy best_by, models::HeadKind kind);

struct TaskOptions {
  /// Of a language model's options those that read documents or processes have no use here. `batch`: examples a step;
  /// `length`: tokens of an example at the most, special ones included.
  train::TrainOptions train = usual_training();
  MaskingOptions masking;      ///< masked_language
  WindowOptions windows;       ///< of the other kinds: texts longer than `length`
  int64_t valid_examples = 0;  ///< how many are measured, spread evenly over the split; 0 = all
  BestBy best_by = BestBy::metric;
};

const FieldTable<TaskOptions>& task_fields();

/// InputError for a value out of range, shares of masking that add up to more than 1, and a batch that is no multiple
/// of accumulation.
void validate(const TaskOptions& options);

Json to_json(const TaskOptions& options);
/// Sets the named fields; an unknown one is an InputError with the nearest known name.
void merge_json(TaskOptions& options, const Json& json);

}  // namespace longspan::tasks
