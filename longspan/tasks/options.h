// How a model of a task is trained: one struct, complete in `config.json` as "task".
#pragma once

#include <cstdint>

#include "longspan/base/fields.h"
#include "longspan/io/json.h"
#include "longspan/tasks/masking.h"
#include "longspan/tasks/windows.h"
#include "longspan/train/options.h"

namespace longspan::tasks {

/// What is usual for encoders: a small rate, little decay, a slow second moment, nothing left at the end.
train::TrainOptions usual_training();

struct TaskOptions {
  /// Of a language model's options those that read documents or processes have no use here. `batch`: examples a step;
  /// `length`: tokens of an example at the most, special ones included.
  train::TrainOptions train = usual_training();
  MaskingOptions masking;      ///< masked_language
  WindowOptions windows;       ///< of the other kinds: texts longer than `length`
  int64_t valid_examples = 0;  ///< how many are measured, spread evenly over the split; 0 = all
};

const FieldTable<TaskOptions>& task_fields();

/// InputError for a value out of range, shares of masking that add up to more than 1, and a batch that is no multiple
/// of accumulation.
void validate(const TaskOptions& options);

Json to_json(const TaskOptions& options);
/// Sets the named fields; an unknown one is an InputError with the nearest known name.
void merge_json(TaskOptions& options, const Json& json);

}  // namespace longspan::tasks
