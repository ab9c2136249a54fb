// longspan task eval: loss and metrics of a model of a task.
#include <CLI/CLI.hpp>
#include <cmath>
#include <map>
#include <memory>

#include "longspan/base/check.h"
#include "longspan/models/encoder_files.h"
#include "longspan/report/format.h"
#include "longspan/tasks/evaluate.h"
#include "tools/longspan/interrupt.h"
#include "tools/longspan/output.h"
#include "tools/longspan/progress.h"
#include "tools/longspan/task/display.h"
#include "tools/longspan/task/examples.h"
#include "tools/longspan/task/model_folder.h"
#include "tools/longspan/task/reading_flags.h"
#include "tools/longspan/task/task.h"

namespace longspan::tool {

namespace {

struct TaskEvalFlags {
  std::string model;
  std::vector<std::string> files;
  RecordFlags records;
  ReadingFlags reading;
  int64_t examples = 0;
  std::string absent_labels;
  bool latest = false;
};

const std::map<std::string, metrics::AbsentLabels> kAbsentLabels = {
    {"skip", metrics::AbsentLabels::skip}, {"zero", metrics::AbsentLabels::zero}, {"one", metrics::AbsentLabels::one}};

void evaluate(const TaskEvalFlags& options, const CommonOptions& common) {
  const std::string folder = model_to_read(options.model, options.latest);
  const models::LoadedEncoder loaded = models::load_encoder(folder);
  if (common.dtype == "float64") loaded.model->to(at::kDouble);
  const models::HeadConfig& head = loaded.model->head_config();
  const tasks::AnswerOptions answers = options.reading.answers(loaded);
  tasks::ExampleSet set = read_task_examples("the examples", options.records.options(options.files),
                                             options.reading.sequences(loaded), common.quiet);
  tasks::number_labels(set, head.labels);

  const tasks::TaskOptions trained = trained_options(loaded);
  tasks::EvaluateOptions how;
  how.masking = trained.masking;
  how.seed = common.seed.value_or(static_cast<uint64_t>(trained.train.seed));
  how.examples = options.examples;
  how.autocast = common.dtype == "bfloat16";
  how.learn_answers = trained.windows.learn_answers;
  how.answers = answers;
  if (!options.absent_labels.empty()) how.absent_labels = kAbsentLabels.at(options.absent_labels);
  ProgressLine progress("task eval", 0, common.quiet);
  const tasks::Evaluation result = tasks::evaluate(*loaded.model, set, how, [&](int64_t done, int64_t total) {
    stop_if_interrupted();
    progress.set_total(total);
    progress.update(done, "examples");
  });
  progress.finish();
  if (common.json) {
    Json json = {{"model", folder},
                 {"kind", to_string(head.kind)},
                 {"examples", result.examples},
                 {"sequences", result.sequences},
                 {"truncated", set.truncated},
                 {"tokens", result.tokens},
                 {"targets", result.targets},
                 {"loss", std::isfinite(result.loss) ? Json(result.loss) : Json()}};
    for (const auto& [name, value] : result.metrics) json[name] = value;
    json["seconds"] = result.seconds;
    print_json(json);
    return;
  }
  print_text(str_cat(folder, ": ", to_string(head.kind), ", ", report::grouped(result.examples), " examples of ",
                     report::grouped(result.tokens), " tokens: loss ",
                     std::isfinite(result.loss) ? report::fixed(result.loss, 4) : "of nothing", ", ",
                     metrics_text(result.metrics), "\n"));
}

}  // namespace

Action set_up_task_eval(CLI::App& app, const CommonOptions& common) {
  auto options = std::make_shared<TaskEvalFlags>();
  app.add_option("model", options->model, "folder of the model")->required();
  app.add_option("files", options->files, std::string("examples, ") + kExampleFiles)->required();
  app.add_option("--examples", options->examples, "how many are measured, spread evenly (default: all)")
      ->check(CLI::Range(1, 1 << 30));
  app.add_option(
         "--absent-labels", options->absent_labels,
         "F1 of a label that is neither predicted nor expected, in macro_f1: skip, zero or one (default: skip for "
         "classification, zero for multi_label, as scikit-learn)")
      ->check(CLI::IsMember(kAbsentLabels));
  options->reading.add(app, /*best=*/false);
  app.add_flag("--latest", options->latest, kLatestHelp);
  options->records.add(app);
  return [options, &common] { evaluate(*options, common); };
}

}  // namespace longspan::tool
