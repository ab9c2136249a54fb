#include "longspan/tasks/options.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "longspan/base/check.h"

namespace longspan::tasks {

namespace {

using models::HeadKind;

const std::vector<std::pair<std::string, BestBy>>& best_by_names() {
  static const std::vector<std::pair<std::string, BestBy>> names = {{"metric", BestBy::metric},
                                                                    {"loss", BestBy::loss},
                                                                    {"accuracy", BestBy::accuracy},
                                                                    {"macro_f1", BestBy::macro_f1},
                                                                    {"micro_f1", BestBy::micro_f1},
                                                                    {"exact_match", BestBy::exact_match},
                                                                    {"f1", BestBy::f1}};
  return names;
}

/// Of which more is better (see Evaluation::metrics); the one to go by first.
const std::vector<BestBy>& metrics_of(HeadKind kind) {
  static const std::vector<BestBy> of_masked = {BestBy::accuracy},
                                   of_labels = {BestBy::accuracy, BestBy::macro_f1, BestBy::micro_f1},
                                   of_several = {BestBy::macro_f1, BestBy::micro_f1, BestBy::exact_match},
                                   of_answers = {BestBy::f1, BestBy::exact_match}, of_choices = {BestBy::accuracy};
  switch (kind) {
    case HeadKind::masked_language:
      return of_masked;
    case HeadKind::classification:
      return of_labels;
    case HeadKind::multi_label:
      return of_several;
    case HeadKind::question:
      return of_answers;
    case HeadKind::choice:
      return of_choices;
  }
  LONGSPAN_ASSERT(false, "a kind of task without metrics");
}

}  // namespace

std::string metric_to_go_by(BestBy best_by, HeadKind kind) {
  const std::vector<BestBy>& known = metrics_of(kind);
  if (best_by == BestBy::metric) best_by = kind == HeadKind::masked_language ? BestBy::loss : known.front();
  if (best_by == BestBy::loss) return "";
  std::string names;
  for (const auto& [name, value] : best_by_names()) {
    const bool has = std::find(known.begin(), known.end(), value) != known.end();
    if (value == best_by && has) return name;
    if (has) names += (names.empty() ? "" : ", ") + name;
  }
  throw InputError(str_cat("task: best_by of ", to_string(kind), " must be metric, loss, ", names, ", got ",
                           best_by_names()[static_cast<std::size_t>(best_by)].first));
}

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
                                .choice("best_by", &TaskOptions::best_by, best_by_names(),
                                        "what the best checkpoint is the best by, of equal ones by the loss; metric: "
                                        "accuracy, macro_f1, f1 or loss, as the task has it")
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
