// longspan train: a language model on a dataset.
#include "longspan/train/train.h"

#include <c10/util/Flags.h>
#include <c10/util/Logging.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>

#include "command.h"
#include "dry_run.h"
#include "field_flags.h"
#include "interrupt.h"
#include "log.h"
#include "longspan/base/check.h"
#include "longspan/data/dataset.h"
#include "longspan/data/tokenizer_file.h"
#include "longspan/io/folder_lock.h"
#include "longspan/models/model_files.h"
#include "longspan/nn/registry.h"
#include "longspan/report/format.h"
#include "longspan/train/checkpoint.h"
#include "longspan/train/checkpoint_store.h"
#include "longspan/train/distributed.h"
#include "longspan/train/memory.h"
#include "output.h"
#include "run_config.h"
#include "run_folder.h"
#include "run_page.h"
#include "run_recorder.h"
#include "train_display.h"

C10_DECLARE_int(caffe2_log_level);

namespace longspan::tool {

namespace {

struct TrainFlags {
  std::string dataset, out, init_from;
  RunConfigSources config;
  bool resume = false, dry_run = false, no_report = false;
};

/// A run goes on with the tokens that its weights know. A checkpoint whose tokenizer cannot be read says nothing of it.
void check_tokenizer(const TrainFlags& options, const Dataset& dataset) {
  for (const train::StoredCheckpoint& checkpoint : train::find_checkpoints(options.out)) {
    std::unique_ptr<Tokenizer> tokenizer;
    try {
      tokenizer = load_tokenizer(checkpoint.folder);
    } catch (const InputError&) {
      continue;
    }
    LONGSPAN_CHECK(tokenizer->description() == dataset.tokenizer().description(), "--resume: the run in '", options.out,
                   "' has another tokenizer than the dataset '", options.dataset, "'");
    return;
  }
}

train::TrainData data_of(const Dataset& dataset) {
  train::TrainData data{.train = &dataset.split("train"), .train_documents = &dataset.documents("train")};
  if (dataset.has("valid")) {
    data.valid = &dataset.split("valid");
    data.valid_documents = &dataset.documents("valid");
    data.valid_source_bytes = [&dataset](int64_t first, int64_t count) {
      return dataset.source_bytes("valid", first, count);
    };
  }
  return data;
}

/// What the command line says about the run, over what it goes on with or begins from.
RunConfig configuration(const TrainFlags& options, const CommonOptions& common, const Dataset& dataset) {
  RunConfigSources sources = options.config;
  sources.vocabulary = dataset.vocabulary();
  sources.attention_fields = [](const std::string& name) {
    for (const nn::AttentionEntry& entry : nn::attentions())
      if (entry.name == name) return entry.fields;
    return std::vector<FieldInfo>();
  };
  if (options.resume) sources.base = train::saved_configuration(options.out);
  if (!options.init_from.empty()) {
    const Json config = load_json(options.init_from + "/config.json");
    LONGSPAN_CHECK(config.is_object() && config.contains("model"), options.init_from,
                   "/config.json: expected an object with the member 'model'");
    sources.base = Json{{"model", config["model"]}};
  }
  RunConfig config = read_run_config(sources);
  if (common.seed) config.train.seed = static_cast<int64_t>(*common.seed);
  if (common.dtype) {
    LONGSPAN_CHECK(*common.dtype != "float64", "train: --dtype float64 is not supported; use float32 or bfloat16");
    config.train.autocast = *common.dtype == "bfloat16" ? train::Autocast::bf16 : train::Autocast::none;
  }
  LONGSPAN_CHECK(config.model.vocabulary == dataset.vocabulary(), "model: vocabulary is ", config.model.vocabulary,
                 " but the dataset '", options.dataset, "' has ", dataset.vocabulary(), " tokens");
  models::validate(config.model);
  train::check_fits(config.model);
  return config;
}

void train(const TrainFlags& options, const CommonOptions& common) {
  LONGSPAN_CHECK(!options.out.empty() || (options.dry_run && !options.resume), "--out: expected a folder");
  if (options.resume) check_resumable(options.out);
  const train::Placement placement = train::placement_from_environment();
  std::optional<Dataset> opened;
  RunConfig config;
  try {
    opened.emplace(options.dataset);
    if (options.resume) check_tokenizer(options, *opened);
    config = configuration(options, common, *opened);
    train::validate(config.train, placement.size);
  } catch (const Error& error) {
    constexpr int64_t kPatience = 30;  // seconds, for the others to come and hear of it
    if (placement.size > 1 && !options.dry_run) train::Peers::report_failure(placement, kPatience, error.what());
    throw;
  }
  const Dataset& dataset = *opened;
  // Several processes meet before one of them can fail alone; the first one writes and speaks.
  if (options.dry_run) {
    if (placement.rank == 0) print_dry_run(config, data_of(dataset), placement.size, common);
    return;
  }
  std::optional<train::Peers> peers;
  if (placement.size > 1) {
    if (!std::getenv("TORCH_CPP_LOG_LEVEL")) FLAGS_caffe2_log_level = c10::GLOG_FATAL;  // what it says repeats our line
    peers.emplace(placement, config.train.peer_timeout, stop_if_interrupted);
  }
  const bool first = placement.rank == 0;
  std::optional<FolderLock> lock;
  if (first) {
    lock.emplace(options.out);
    LONGSPAN_CHECK(options.resume || !is_taken(options.out), "--out: '", options.out,
                   "' exists; give another folder, or --resume to go on with it");
  }
  const auto tell = [&](const std::string& text) {
    if (first) log_info(text);
  };

  if (config.train.keep_best > 0 && !dataset.has("valid"))
    tell(str_cat("'", options.dataset, "' has no validation split, so no checkpoint is kept as the best (keep_best = ",
                 config.train.keep_best, ")"));

  const SplitInfo& info = dataset.info("train");
  const double bytes_per_token = static_cast<double>(info.source_bytes) / static_cast<double>(info.tokens);
  const auto model = train::make_model(config.model, config.train.seed);
  if (!options.init_from.empty())
    tell_initial_weights(options.init_from, models::init_weights(options.init_from, dataset.tokenizer(), *model), tell);
  train::Trainer trainer(model, data_of(dataset), config.train, peers ? &*peers : nullptr);
  if (options.resume) {
    const auto warnings = trainer.resume(options.out);
    LONGSPAN_CHECK(trainer.steps_done() <= config.train.steps, "--resume: the run in '", options.out, "' has done ",
                   trainer.steps_done(), " steps, more than the ", config.train.steps,
                   " asked for; --steps N goes on to N");
    for (const std::string& warning : warnings) tell("warning: " + warning);
  }
  if (peers) {
    peers->check_equal("train: the options", train::to_json(config.train).dump());
    peers->check_equal("train: the data", str_cat(info.tokens, " tokens"));
    peers->check_equal("train: the step and the weights", str_cat(trainer.steps_done(), " ", model->identity()));
  }
  if (trainer.done())
    tell(str_cat("the run in '", options.out, "' is finished: all ", config.train.steps,
                 " steps are done; --steps N goes on to more"));

  TrainDisplay display(TrainDisplay::Options{config.train.steps, bytes_per_token, common.json && first,
                                             common.quiet || !first, "train"});
  std::optional<RunRecorder> recorder;
  Observers observers({&display});
  if (first && !options.no_report) {
    recorder.emplace(options.out, run_page(options.out, common.command, dataset, trainer), bytes_per_token);
    observers = Observers({&display, &*recorder});
  }
  const bool done =
      trainer.run(observers, options.out, &dataset.tokenizer(), Json{{"data", {{"folder", options.dataset}}}});
  display.finish();
  // A twentieth of the time, for a text of the model.
  if (recorder) finish_run_page(*recorder, trainer, dataset, std::clamp(0.05 * display.seconds(), 0.2, 3.0));
  if (!done) {
    tell(str_cat("stopped after step ", trainer.steps_done(), " of ", config.train.steps,
                 "; checkpoint written, go on with --resume"));
    throw Interrupted();
  }
  if (!common.json && first) print_text(display.summary(options.out, trainer.model().parameter_count()));
}

}  // namespace

Action set_up_train(CLI::App& app, const CommonOptions& common) {
  auto options = std::make_shared<TrainFlags>();
  app.add_option("dataset", options->dataset, "folder written by longspan prepare")->required();
  app.add_option("--out", options->out, "folder of the model");
  app.add_option("--config", options->config.file, "JSON file with \"model\" and \"train\"");
  app.add_option("--attention", options->config.attention, "name of the attention (default: lavo)");
  app.add_option(
         "--set", options->config.settings,
         "path.to.field=value, such as train.steps=300 or model.attention_options.r=32 (may be repeated; the last one "
         "of a field counts)")
      ->allow_extra_args(false);
  auto* resume = app.add_flag("--resume", options->resume, "go on from the latest checkpoint in --out");
  app.add_option("--init-from", options->init_from,
                 "folder of a model, or of a checkpoint, whose weights the new model begins with; its shape is the "
                 "default")
      ->excludes(resume);
  app.add_flag("--dry-run", options->dry_run,
               "print what the run would take: parameters, peak memory, state, time, disk space; nothing is written");
  add_field_flags(app, "Training options", train::train_fields().infos(), {"seed"}, options->config.train_flags);
  add_field_flags(app, "Model options", models::model_fields().infos(), {"attention", "vocabulary"},
                  options->config.model_flags);
  app.add_flag("--no-report", options->no_report, "keep neither history.jsonl nor report.html in --out");
  app.footer("Fields of --config and --set, with defaults and ranges: longspan inspect config");
  return [options, &common] { train(*options, common); };
}

}  // namespace longspan::tool
