// longspan task train: an encoder on examples of a task.
#include <ATen/Parallel.h>
#include <torch/version.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>

#include "longspan/base/check.h"
#include "longspan/data/tokenizer_file.h"
#include "longspan/io/folder_lock.h"
#include "longspan/models/encoder_files.h"
#include "longspan/models/own_special_tokens.h"
#include "longspan/report/format.h"
#include "longspan/tasks/trainer.h"
#include "longspan/train/checkpoint.h"
#include "tools/longspan/environment.h"
#include "tools/longspan/field_flags.h"
#include "tools/longspan/interrupt.h"
#include "tools/longspan/log.h"
#include "tools/longspan/output.h"
#include "tools/longspan/run_folder.h"
#include "tools/longspan/run_recorder.h"
#include "tools/longspan/task/config.h"
#include "tools/longspan/task/display.h"
#include "tools/longspan/task/examples.h"
#include "tools/longspan/task/task.h"

namespace longspan::tool {

namespace {

struct TaskTrainFlags {
  std::string kind, out, init_from, tokenizer = "bytes";
  std::vector<std::string> train, valid;
  RecordFlags records;
  TaskConfigSources config;
  bool resume = false, no_report = false;
};

class TaskRun {
 public:
  TaskRun(const TaskTrainFlags& options, const CommonOptions& common)
      : options_(options), common_(common), kind_(models::head_kind(options.kind)) {
    if (options_.resume) check_resumable(options_.out);
    lock_.emplace(options_.out);
    LONGSPAN_CHECK(options_.resume || !is_taken(options_.out), "--out: '", options_.out,
                   "' exists; give another folder, or --resume to go on with it");
    configure();
    read();
  }

  void run() {
    const auto tell = [](const std::string& text) { log_info(text); };
    const auto model = tasks::make_model(config_.encoder, config_.head, config_.task.train.seed);
    if (!options_.init_from.empty())
      tell_initial_weights(options_.init_from, models::init_weights(options_.init_from, *tokenizer_, *model), tell);
    tasks::TaskTrainer trainer(model, train_, valid_ ? &*valid_ : nullptr, config_.task);
    if (options_.resume) resume(trainer);

    TaskDisplay display(config_.task.train.steps, common_.json, common_.quiet);
    std::optional<RunRecorder> recorder;
    std::vector<train::TrainObserver*> all = {&display};
    if (!options_.no_report) all.push_back(&recorder.emplace(options_.out, page(trainer), 0.0));
    Observers observers(all);
    const bool done = trainer.run(observers, options_.out, tokenizer_.get(),
                                  Json{{"data", {{"train", options_.train}, {"valid", options_.valid}}}});
    display.finish();
    if (recorder) recorder->finish(done ? report::TrainingRun::Status::done : report::TrainingRun::Status::stopped);
    if (!done) {
      tell(str_cat("stopped after step ", trainer.steps_done(), " of ", config_.task.train.steps,
                   "; checkpoint written, go on with --resume"));
      throw Interrupted();
    }
    if (!common_.json) print_text(display.summary(options_.out, model->parameter_count()));
  }

 private:
  void configure() {
    TaskConfigSources sources = options_.config;
    if (options_.resume) {
      sources.base = tasks::saved_configuration(options_.out);
      tokenizer_ = load_tokenizer(options_.out);
    } else if (!options_.init_from.empty()) {
      const Json saved = models::model_config(options_.init_from, {"encoder", "head"});
      sources.base = Json{{"encoder", saved["encoder"]}, {"head", saved["head"]}};
      if (saved.contains("task") && saved["task"].contains("length"))
        sources.base["task"] = {{"length", saved["task"]["length"]}};
      tokenizer_ = load_tokenizer(options_.init_from);
    } else {
      tokenizer_ = open_tokenizer(options_.tokenizer);
      sources.special_tokens = models::own_special_tokens(*tokenizer_);
    }
    const bool anew = sources.base.is_null();
    config_ = read_task_config(sources);
    if (anew && sources.preset.empty()) fit_vocabulary();
    int64_t& positions = config_.encoder.max_positions;
    const int64_t length = config_.task.train.length;
    if (anew ? !config_.positions_given : !options_.init_from.empty() && length > positions) positions = length;
    if (common_.seed) config_.task.train.seed = static_cast<int64_t>(*common_.seed);
    if (common_.dtype) {
      LONGSPAN_CHECK(*common_.dtype != "float64", "task: --dtype float64 is not supported; use float32 or bfloat16");
      config_.task.train.autocast = *common_.dtype == "bfloat16" ? train::Autocast::bf16 : train::Autocast::none;
    }
    models::validate(config_.encoder);
    tasks::validate(config_.task);
    models::check_vocabulary(config_.encoder, *tokenizer_, "encoder");
    tasks::check_fits(config_.encoder);
    saved_head_ = options_.resume ? std::optional(models::head_from_json(sources.base["head"])) : std::nullopt;
    LONGSPAN_CHECK(!saved_head_ || saved_head_->kind == kind_, "--resume: the run in '", options_.out, "' is for ",
                   to_string(saved_head_->kind), ", not for ", options_.kind);
  }

  /// The tokenizer's tokens and, where any special token counts from the end, as many more as there are of these.
  void fit_vocabulary() {
    models::EncoderConfig& encoder = config_.encoder;
    const bool behind =
        std::min({encoder.first_token, encoder.separator_token, encoder.padding_token, encoder.mask_token}) < 0;
    encoder.vocabulary = tokenizer_->vocabulary_size() + (behind ? models::kSpecialTokens : 0);
  }

  void read() {
    tasks::SequenceOptions sequences;
    sequences.tokenizer = tokenizer_.get();
    sequences.special = special_tokens(config_.encoder);
    sequences.kind = kind_;
    sequences.length = config_.task.train.length;
    sequences.windows = tasks::in_windows(config_.task.windows.long_texts, kind_);
    sequences.stride = config_.task.windows.stride;
    sequences.whole_words = kind_ == models::HeadKind::masked_language && config_.task.masking.whole_words;
    train_ = read_task_examples("--data", options_.records.options(options_.train), sequences, common_.quiet);
    if (!options_.valid.empty())
      valid_ = read_task_examples("--valid", options_.records.options(options_.valid), sequences, common_.quiet);
    config_.head = saved_head_ ? *saved_head_ : tasks::head_for(train_, config_.head);
    if (kind_ == models::HeadKind::question && !config_.head.may_be_empty && tasks::drop_lost_answers(train_) > 0)
      LONGSPAN_CHECK(train_.size() > 0, "--data: no sequence holds an answer whole; give more --length");
    tasks::number_labels(train_, config_.head.labels);
    if (valid_) tasks::number_labels(*valid_, config_.head.labels);
  }

  void resume(tasks::TaskTrainer& trainer) {
    const auto warnings = trainer.resume(options_.out);
    const int64_t steps = config_.task.train.steps;
    LONGSPAN_CHECK(trainer.steps_done() <= steps, "--resume: the run in '", options_.out, "' has done ",
                   trainer.steps_done(), " steps, more than the ", steps, " asked for; --steps N goes on to N");
    for (const std::string& warning : warnings) log_info("warning: " + warning);
    if (trainer.done())
      log_info(str_cat("the run in '", options_.out, "' is finished: all ", steps,
                       " steps are done; --steps N goes on to more"));
  }

  report::TrainingRun page(tasks::TaskTrainer& trainer) const {
    const models::EncoderConfig& config = trainer.model().encoder_config();
    report::TrainingRun page;
    page.name = options_.out;
    page.loss_unit = "nats";
    page.step = trainer.steps_done();
    page.steps = config_.task.train.steps;
    page.facts = {{"Task", options_.kind},
                  {"Model", str_cat(config.attention, ", ", config.layers, " layers of width ", config.width, ", ",
                                    config.heads, " heads")},
                  {"Parameters", report::grouped(trainer.model().parameter_count())}};
    page.sessions = {{page.step, shell_line(common_.command),
                      str_cat(report::join(options_.train, ", "), ": ", report::grouped(train_.sequences()),
                              " sequences of ", report::grouped(train_.tokens()), " tokens to train on")}};
    page.machine = facts(this_environment(at::get_num_threads(), TORCH_VERSION));
    page.options = {{"encoder", models::to_json(config)},
                    {"head", models::to_json(trainer.model().head_config())},
                    {"task", tasks::to_json(trainer.options())}};
    std::vector<std::string> on = common_.command;
    if (!options_.resume) on.push_back("--resume");
    page.resume = shell_line(on);
    if (!options_.valid.empty())
      page.commands.emplace_back("To measure it",
                                 shell_line({"longspan", "task", "eval", options_.out, options_.valid.front()}));
    return page;
  }

  const TaskTrainFlags& options_;
  const CommonOptions& common_;
  models::HeadKind kind_;
  std::optional<FolderLock> lock_;
  TaskConfig config_;
  std::optional<models::HeadConfig> saved_head_;
  std::unique_ptr<Tokenizer> tokenizer_;
  tasks::ExampleSet train_;
  std::optional<tasks::ExampleSet> valid_;
};

}  // namespace

Action set_up_task_train(CLI::App& app, const CommonOptions& common) {
  auto options = std::make_shared<TaskTrainFlags>();
  app.add_option("kind", options->kind, "masked_language, classification, multi_label, question or choice")->required();
  app.add_option("--data", options->train, std::string("examples to train on, ") + kExampleFiles)->required();
  app.add_option("--valid", options->valid, "examples to measure on");
  app.add_option("--out", options->out, "folder of the model")->required();
  app.add_option("--config", options->config.file, "JSON file with \"encoder\", \"head\" and \"task\"");
  app.add_option("--preset", options->config.preset,
                 "encoder to begin with: tiny, or base, the paper's (default: tiny)")
      ->check(CLI::IsMember(models::encoder_presets()));
  app.add_option("--attention", options->config.attention, "name of the attention (default: diffuser)");
  app.add_option("--set", options->config.settings,
                 "path.to.field=value, such as task.steps=300 or encoder.attention_options.w=64 (may be repeated; the "
                 "last one of a field counts)")
      ->allow_extra_args(false);
  auto* resume = app.add_flag("--resume", options->resume, "go on from the latest checkpoint in --out");
  auto* init = app.add_option("--init-from", options->init_from,
                              "folder of a model of a task, such as a masked language model, whose encoder the new "
                              "model begins with; its shape and tokenizer are the default")
                   ->excludes(resume);
  app.add_option(
         "--tokenizer", options->tokenizer,
         "bytes, or the file of a tokenizer (tokenizer.json, vocab.json with merges.txt beside it, .tiktoken, a "
         "SentencePiece model), or a folder that has one (default: bytes)")
      ->excludes(resume)
      ->excludes(init);
  options->records.add(app);
  add_field_flags(app, "Training options", tasks::task_fields().infos(), {"seed"}, options->config.task_flags);
  add_field_flags(app, "Head options", models::head_fields().infos(), {"kind", "may_be_empty"},
                  options->config.head_flags);
  add_field_flags(app, "Encoder options", models::encoder_fields().infos(), {"attention", "vocabulary"},
                  options->config.encoder_flags);
  app.add_flag("--no-report", options->no_report, "keep neither history.jsonl nor report.html in --out");
  app.footer(
      "Examples are lines such as {\"text\": \"...\", \"label\": \"a\"} (classification), {\"text\": \"...\", "
      "\"labels\": [\"a\", \"b\"]}\n(multi_label), {\"question\": \"...\", \"context\": \"...\", \"answers\": "
      "[\"...\"]} (question) or {\"question\": \"...\", \"candidates\": [\"a\", \"b\"],\n\"supports\": [\"...\"], "
      "\"answer\": \"a\"} (choice); masked_language needs text alone.");
  return [options, &common] { TaskRun(*options, common).run(); };
}

}  // namespace longspan::tool
