// longspan recall train: a language model on rows that are made as they are read.
#include <ATen/Parallel.h>
#include <torch/version.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>

#include "longspan/base/check.h"
#include "longspan/data/recall_tokenizer.h"
#include "longspan/io/folder_lock.h"
#include "longspan/models/model_files.h"
#include "longspan/report/format.h"
#include "longspan/train/checkpoint.h"
#include "tools/longspan/environment.h"
#include "tools/longspan/field_flags.h"
#include "tools/longspan/interrupt.h"
#include "tools/longspan/log.h"
#include "tools/longspan/output.h"
#include "tools/longspan/progress.h"
#include "tools/longspan/recall/config.h"
#include "tools/longspan/recall/recall.h"
#include "tools/longspan/run_folder.h"
#include "tools/longspan/run_recorder.h"
#include "tools/longspan/step_totals.h"

namespace longspan::tool {

namespace {

struct RecallTrainFlags {
  std::string out;
  RecallSources config;
  bool resume = false, no_report = false;
};

class Display final : public train::TrainObserver {
 public:
  Display(int64_t steps, bool json, bool quiet) : json_(json), line_("recall train", steps, quiet) {}
  void on_step(const train::StepResult& step) override {
    totals_.add(step);
    if (json_) print_json(train::to_json(step, 0));
    line_.update(step.step, str_cat("loss ", report::fixed(totals_.smooth_loss(), 3)));
  }
  bool should_stop() override { return interrupt_requested(); }
  void finish() { line_.finish(); }

 private:
  bool json_;
  ProgressLine line_;
  StepTotals totals_;
};

RecallConfig configuration(const RecallTrainFlags& options, const CommonOptions& common) {
  RecallSources sources = options.config;
  if (options.resume) {
    sources.base = train::saved_configuration(options.out);
    const Json saved = models::model_config(options.out, {"recall"});
    sources.base["recall"] = saved["recall"];
  }
  RecallConfig config = read_recall_config(sources);
  if (common.seed) config.train.seed = static_cast<int64_t>(*common.seed);
  return config;
}

report::TrainingRun page_of(const RecallTrainFlags& options, const CommonOptions& common, const RecallConfig& config,
                            train::Trainer& trainer) {
  report::TrainingRun page;
  page.name = options.out;
  page.loss_unit = "nats";
  page.step = trainer.steps_done();
  page.steps = config.train.steps;
  page.facts = {{"Model", str_cat(config.model.attention, ", ", config.model.layers, " layers of width ",
                                  config.model.width, ", ", config.model.heads, " heads")},
                {"Parameters", report::grouped(trainer.model().parameter_count())}};
  page.sessions = {{page.step, shell_line(common.command), "rows of recall, made as they are read"}};
  page.machine = facts(this_environment(at::get_num_threads(), TORCH_VERSION));
  page.options = {{"model", models::to_json(trainer.model().config())},
                  {"train", train::to_json(config.train)},
                  {"recall", longspan::to_json(config.recall)}};
  page.resume = shell_line({"longspan", "recall", "train", "--out", options.out, "--resume"});
  page.commands = {{"To measure it", shell_line({"longspan", "recall", "eval", options.out})}};
  return page;
}

void train_recall(const RecallTrainFlags& options, const CommonOptions& common) {
  if (options.resume) check_resumable(options.out);
  const RecallConfig config = configuration(options, common);
  const FolderLock lock(options.out);
  LONGSPAN_CHECK(options.resume || !is_taken(options.out), "--out: '", options.out,
                 "' exists; give another folder, or --resume to go on with it");
  const auto tokenizer = recall_tokenizer(config.recall);
  const auto model = train::make_model(config.model, config.train.seed);
  const auto trainer = tasks::recall_trainer(model, config.recall, config.train);
  if (options.resume) {
    const auto warnings = trainer->resume(options.out);
    LONGSPAN_CHECK(trainer->steps_done() <= config.train.steps, "--resume: the run in '", options.out, "' has done ",
                   trainer->steps_done(), " steps, more than the ", config.train.steps,
                   " asked for; --steps N goes on to N");
    for (const std::string& warning : warnings) log_info("warning: " + warning);
  }
  Display display(config.train.steps, common.json, common.quiet);
  std::optional<RunRecorder> recorder;
  std::vector<train::TrainObserver*> all = {&display};
  if (!options.no_report) all.push_back(&recorder.emplace(options.out, page_of(options, common, config, *trainer), 0));
  Observers observers(all);
  const bool done =
      trainer->run(observers, options.out, tokenizer.get(), Json{{"recall", longspan::to_json(config.recall)}});
  display.finish();
  if (recorder) recorder->finish(done ? report::TrainingRun::Status::done : report::TrainingRun::Status::stopped);
  if (!done) {
    log_info(str_cat("stopped after step ", trainer->steps_done(), " of ", config.train.steps,
                     "; checkpoint written, go on with --resume"));
    throw Interrupted();
  }
  if (common.json) return;
  const tasks::RecallResult result = tasks::validate_recall(*model, config.recall, config.train.length, {});
  print_text(str_cat(report::grouped(config.train.steps), " steps, ", report::grouped(model->parameter_count()),
                     " parameters\nrows like those of training: accuracy ", report::fixed(result.accuracy, 4), " of ",
                     report::grouped(result.questions), " answers, loss ", report::fixed(result.loss, 4),
                     "\nmodel: ", options.out, "\n"));
}

}  // namespace

Action set_up_recall_train(CLI::App& app, const CommonOptions& common) {
  auto options = std::make_shared<RecallTrainFlags>();
  app.add_option("--out", options->out, "folder of the model")->required();
  app.add_option("--config", options->config.file, "JSON file with \"model\", \"train\" and \"recall\"");
  app.add_option("--attention", options->config.attention, "name of the attention (default: lavo)");
  app.add_option("--set", options->config.settings,
                 "path.to.field=value, such as train.steps=800 or model.attention_options.w=16 (may be repeated; the "
                 "last one of a field counts)")
      ->allow_extra_args(false);
  app.add_flag("--resume", options->resume, "go on from the latest checkpoint in --out");
  std::vector<std::string> unused = unused_in_recall();
  unused.emplace_back("seed");
  add_field_flags(app, "Task options", recall_fields().infos(), {}, options->config.recall_flags);
  add_field_flags(app, "Training options", train::train_fields().infos(), unused, options->config.train_flags);
  add_field_flags(app, "Model options", models::model_fields().infos(), {"attention", "vocabulary"},
                  options->config.model_flags);
  app.add_flag("--no-report", options->no_report, "keep neither history.jsonl nor report.html in --out");
  app.footer(
      "Defaults that differ from longspan train: 2 layers, 400 steps of 13 x 256 tokens, learning rate 4e-3 after 40\n"
      "steps, float32.");
  return [options, &common] { train_recall(*options, common); };
}

}  // namespace longspan::tool
