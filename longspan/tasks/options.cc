#include "longspan/tasks/options.h"

namespace longspan::tasks {

train::TrainOptions usual_training() {
  train::TrainOptions options;
  options.steps = 1000;
  options.batch = 8;
  options.learning_rate = 5e-4;
  options.warmup = 100;
  options.min_lr_ratio = 0;
  options.weight_decay = 0.01;
  options.beta2 = 0.999;
  return options;
}

const FieldTable<TaskOptions>& task_fields() {
  static const auto table = FieldTable<TaskOptions>("task")
                                .part(&TaskOptions::train, train::train_fields(),
                                      {"sequences", "reset_at_documents", "peer_timeout", "valid_blocks"})
                                .integer("valid_examples", &TaskOptions::valid_examples, {0, 1e12},
                                         "examples that a validation measures, 0 = all")
                                .part(&TaskOptions::masking, masking_fields())
                                .part(&TaskOptions::windows, window_fields());
  return table;
}

void validate(const TaskOptions& options) {
  task_fields().validate(options);
  train::validate(options.train);
  validate(options.masking);
}

Json to_json(const TaskOptions& options) {
  Json json = Json::object();
  const FieldValues values = task_fields().values(options);
  for (const auto& info : task_fields().infos()) json[info.name] = longspan::to_json(values.at(info.name));
  return json;
}

void merge_json(TaskOptions& options, const Json& json) { task_fields().apply(options, to_field_values(json, "task")); }

}  // namespace longspan::tasks
