// longspan ablations: small models of LAVO with one part changed in each, trained and measured alike.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>

#include "ablations/generated_text.h"
#include "ablations/results.h"
#include "attention_of.h"
#include "command.h"
#include "interrupt.h"
#include "log.h"
#include "longspan/base/check.h"
#include "longspan/data/write_dataset.h"
#include "longspan/io/atomic_file.h"
#include "longspan/nn/lavo_options.h"
#include "longspan/report/format.h"
#include "longspan/train/evaluate.h"
#include "longspan/train/train.h"
#include "output.h"
#include "own_text.h"
#include "prepare_progress.h"
#include "result_folder.h"
#include "run_config.h"

namespace longspan::tool {

namespace {

struct AblationsFlags {
  std::string out = "ablations", text;
  std::vector<std::string> settings;
  int64_t steps = 0, seeds = 1, blocks = 16;
  bool overwrite = false;
};

constexpr const char *kAblations = "ablations.json", *kGenerated = "generated.txt";
constexpr int64_t kContext = 1024;
constexpr int64_t kGeneratedBytes = 800'000;

/// Two layers of width 64 with two heads, half as many slots as the heads are wide.
Json small_configuration() {
  return {{"model",
           {{"attention", "lavo"},
            {"attention_options", {{"r", 16}, {"w", 16}}},
            {"layers", 2},
            {"width", 64},
            {"heads", 2},
            {"feed_forward", 256}}},
          {"train", {{"steps", 300}, {"batch", 4}, {"length", 512}, {"warmup", 30}}}};
}

RunConfig configuration(const AblationsFlags& options) {
  RunConfigSources sources;
  sources.base = small_configuration();
  sources.settings = options.settings;
  if (options.steps > 0) sources.settings.push_back(str_cat("train.steps=", options.steps));
  RunConfig config = read_run_config(sources);
  LONGSPAN_CHECK(config.model.attention == "lavo", "ablations: model.attention must be lavo, got ",
                 config.model.attention);
  models::validate(config.model);
  return config;
}

/// The row's model. AblationsFlags of the configuration that the row makes idle (the slots, of the local branch alone)
/// go back to their defaults.
models::ModelConfig variant(models::ModelConfig config, const AblationRow& row) {
  FieldValues& options = config.attention_options;
  for (const auto& [name, value] : row.options) options[name] = value;
  const auto& fields = nn::lavo_fields();
  for (const std::string& name : nn::idle_options(nn::lavo_idle(), fields.values(fields.parse(options))))
    if (!row.options.contains(name)) options.erase(name);
  return config;
}

/// The rows for `model`, checked. One whose model is that of an earlier row, as settings can make it, would be trained
/// twice: it is left out, and that is said.
std::vector<AblationRow> different_rows(const models::ModelConfig& model) {
  std::vector<AblationRow> rows;
  for (const AblationRow& row : ablation_rows(model.width / model.heads)) {
    const models::ModelConfig config = variant(model, row);
    models::validate(config);
    const auto same = std::find_if(rows.begin(), rows.end(),
                                   [&](const AblationRow& other) { return variant(model, other) == config; });
    if (same == rows.end())
      rows.push_back(row);
    else
      log_info(str_cat("ablations: '", row.name, "' is left out: with these settings it is '", same->name, "'"));
  }
  return rows;
}

class StepsShown final : public train::TrainObserver {
 public:
  StepsShown(ProgressLine& line, int64_t before, std::string row)
      : line_(line), before_(before), row_(std::move(row)) {}
  void on_step(const train::StepResult& step) override {
    tokens_ += step.tokens;
    seconds_ += step.seconds;
    line_.update(before_ + step.step, row_);
  }
  bool should_stop() override { return interrupt_requested(); }
  double tokens_per_second() const { return static_cast<double>(tokens_) / seconds_; }

 private:
  ProgressLine& line_;
  int64_t before_, tokens_ = 0;
  double seconds_ = 0;
  std::string row_;
};

double held_out_bits(models::LanguageModel& model, const TokenFile& tokens, int64_t blocks, const std::string& way) {
  train::EvaluateOptions options;
  options.blocks = blocks;
  options.first_target = 0;  // one length alone is measured: the whole text serves
  if (!way.empty()) options.ablate_part = "memory";
  options.ablate_way = way;
  return train::ContextEvaluation(model, tokens, kContext, options)
      .run(kContext, 0, [](int64_t, int64_t) { stop_if_interrupted(); })
      .bits_per_byte;
}

bool has_memory(const models::LanguageModel& model) {
  const auto offered = attention_of(model).ablations();
  return std::find(offered.begin(), offered.end(), "memory=zero") != offered.end();
}

Dataset training_text(const AblationsFlags& options, const CommonOptions& common) {
  std::string text = options.text;
  if (text.empty()) {
    text = options.out + "/" + kGenerated;
    write_file(text, generated_text(kGeneratedBytes, 0));
  }
  const SplitText split = split_text(text, options.out + "/text");
  DatasetOptions dataset;
  dataset.inputs = {split.train};
  dataset.held_out = {split.held_out};
  dataset.output = options.out + "/data";
  dataset.overwrite = true;
  PrepareProgress progress(common.quiet);
  write_dataset(dataset, progress);
  return Dataset(dataset.output);
}

void run_ablations(const AblationsFlags& options, const CommonOptions& common) {
  const RunConfig config = configuration(options);
  if (!options.text.empty()) check_text("ablations", options.text, kLeastOwnText);
  const auto rows = different_rows(config.model);
  ResultFolder folder(options.out, {"ablations", {kAblations}, {"data", "text", kGenerated}}, options.overwrite);
  const Dataset dataset = training_text(options, common);

  std::vector<AblationResult> results;
  Json all = Json::array();
  {
    const auto models_to_train = static_cast<int64_t>(rows.size()) * options.seeds;
    ProgressLine line("ablations, steps", models_to_train * config.train.steps, common.quiet);
    int64_t trained = 0;
    for (const AblationRow& row : rows) {
      AblationResult result{row, {}};
      for (int64_t seed = 0; seed < options.seeds; ++seed) {
        train::TrainOptions train = config.train;
        train.seed += seed + static_cast<int64_t>(common.seed.value_or(0));
        auto model = train::make_model(variant(config.model, row), train.seed);
        train::Trainer trainer(model, dataset.split("train"), nullptr, train);
        StepsShown shown(line, trained++ * train.steps, row.name);
        if (!trainer.run(shown)) throw Interrupted();
        const TokenFile& test = dataset.split("test");
        AblationRun run{train.seed,
                        model->parameter_count(),
                        held_out_bits(*model, test, options.blocks, ""),
                        {},
                        shown.tokens_per_second()};
        if (has_memory(*model)) run.without_memory = held_out_bits(*model, test, options.blocks, "zero");
        result.runs.push_back(run);
      }
      results.push_back(std::move(result));
      all.push_back(to_json(results.back(), results.front()));
      if (common.json) print_json(all.back());
    }
  }
  save_json(options.out + "/" + kAblations, all);
  folder.keep();
  if (common.json) return;
  std::string text = str_cat("Bits per byte on the held-out text with ", kContext, " tokens of context, after ",
                             config.train.steps, " steps of ", config.train.batch * config.train.length, " tokens");
  text += options.seeds > 1 ? str_cat(", mean over ", options.seeds, " seeds") : ", one seed";
  text +=
      "; \"memory to zero\": their change when the trained model's memory is set to zero. EPE: scores by distance; "
      "CD: the memory is fed with what local attention made of each token\n\n";
  print_text(text + report::to_text(ablation_table(results)));
}

}  // namespace

Action set_up_ablations(CLI::App& app, const CommonOptions& common) {
  auto options = std::make_shared<AblationsFlags>();
  app.add_option("--out", options->out, "folder of the results (default: ablations)");
  app.add_flag("--overwrite", options->overwrite, "replace the results of an earlier run in --out");
  app.add_option("--text", options->text,
                 "a text of your own, its last tenth held out (default: a generated one, whose far past helps)");
  app.add_option("--steps", options->steps, "training steps of each model (default: 300)")
      ->check(CLI::Range(1, 1 << 30));
  app.add_option("--seeds", options->seeds, "models trained for each row (default: 1)")->check(CLI::Range(1, 100));
  app.add_option("--blocks", options->blocks, "held-out blocks of 1,024 tokens (default: 16)")
      ->check(CLI::Range(1, 1 << 20));
  app.add_option(
         "--set", options->settings,
         "path.to.field=value of every model, such as model.width=128, train.length=256 or train.autocast=none (may be "
         "repeated; see longspan inspect config)")
      ->allow_extra_args(false);
  return [options, &common] { run_ablations(*options, common); };
}

}  // namespace longspan::tool
