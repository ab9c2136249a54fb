// longspan demo: three small models on real text, compared far beyond their training length.
#include <ATen/Parallel.h>
#include <torch/version.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>

#include "command.h"
#include "demo/compressors.h"
#include "demo/measure.h"
#include "demo/metrics.h"
#include "demo/page.h"
#include "demo/plan.h"
#include "demo/recall_panel.h"
#include "environment.h"
#include "interrupt.h"
#include "log.h"
#include "longspan/base/check.h"
#include "longspan/data/write_dataset.h"
#include "longspan/io/atomic_file.h"
#include "longspan/report/format.h"
#include "output.h"
#include "own_text.h"
#include "prepare_progress.h"
#include "result_folder.h"
#include "timing.h"
#include "tools/longspan/result_files.h"

namespace longspan::tool {

namespace {

struct DemoFlags {
  std::string out = "demo", text;
  std::vector<std::string> train;
  std::vector<std::string> held_out;
  bool full = false, overwrite = false;
  int64_t steps = 0, max_length = 0;
};

Dataset demo_texts(const DemoFlags& options, const CommonOptions& common) {
  DatasetOptions dataset;
  dataset.inputs = options.train;
  dataset.held_out = options.held_out;
  dataset.output = options.out + "/data";
  dataset.overwrite = true;
  PrepareProgress progress(common.quiet);
  write_dataset(dataset, progress);
  return Dataset(dataset.output);
}

/// Lengths that the held-out text is too short for are left out.
void fit_lengths(DemoPlan& plan, int64_t held_out_tokens) {
  const auto too_long = [&](int64_t length) { return length + 1024 > held_out_tokens; };
  std::erase_if(plan.lengths, too_long);
  std::erase_if(plan.ablation_lengths, too_long);
}

void print_tables(const DemoPlan& plan, const DemoResults& results) {
  std::string text = "\nBits per byte on " + results.text + ", by tokens of context (trained at " +
                     report::length_label(plan.train.length) + "):\n" +
                     report::indent(report::to_text(quality_table(plan, results)), 2);
  text += "\nTraining:\n" + report::indent(report::to_text(training_table(plan, results)), 2);
  text += "\nMemory ablation, change of LAVO's bits per byte:\n" +
          report::indent(report::to_text(memory_table(plan, results)), 2);
  text += "\nForward + backward of the operators, times as fast as softmax:\n" +
          report::indent(report::to_text(speed_table(plan, results)), 2) + "\n";
  if (!results.recall.empty())
    text += "Recall of " + std::to_string(plan.recall.pairs) + " pairs, by tokens of the row:\n" +
            report::indent(report::to_text(recall_table(plan, results)), 2) + "\n";
  for (const Contender& contender : plan.contenders)
    if (const auto sentence = context_sentence(plan, results, contender); !sentence.empty()) text += sentence + "\n";
  for (const auto& sentence :
       {compressor_sentence(plan, results), memory_sentence(plan, results), local_sentence(plan, results),
        recall_sentence(plan, results), speed_sentence(plan, results),
        break_even_sentence(results.training_speed, "Forward and backward"), state_sentence(plan, results)})
    if (!sentence.empty()) text += sentence + "\n";
  print_text(text);
}

void run_demo(DemoFlags options, const CommonOptions& common) {
  const double start = now();
  const bool own_text = !options.text.empty();
  LONGSPAN_CHECK(own_text ? options.train.empty() && options.held_out.empty()
                          : !options.train.empty() && !options.held_out.empty(),
                 "demo: give either --text FILE or both --train FILES and --held-out FILE");
  LONGSPAN_CHECK(own_text || options.held_out.size() == 1, "--held-out: expected one file, got ",
                 options.held_out.size());
  DemoPlan plan = make_demo_plan(options.full, options.steps, options.max_length);
  plan.out = options.out;
  if (common.seed)
    for (int64_t& seed : plan.seeds) seed += static_cast<int64_t>(*common.seed);

  if (own_text) {
    check_text("demo", options.text, kLeastOwnText);
  } else {
    for (const std::string& file : options.train) check_text("demo", file, 1);
    check_text("demo", options.held_out.front(), kLeastHeldOut);
  }
  ResultFolder folder(options.out, {"demo", {kMetrics, kPage}, {"data", "text", "models"}}, options.overwrite);
  if (own_text) {
    const SplitText split = split_text(options.text, options.out + "/text");
    options.train = {split.train};
    options.held_out = {split.held_out};
  }
  const Dataset dataset = demo_texts(options, common);
  fit_lengths(plan, dataset.split("test").size());

  DemoResults results;
  results.text = own_text ? "the last tenth of " + std::filesystem::path(options.text).filename().string()
                          : std::filesystem::path(options.held_out.front()).filename().string();
  results.train_bytes = dataset.info("train").source_bytes;
  results.held_out_bytes = dataset.info("test").source_bytes;
  results.environment = this_environment(at::get_num_threads(), TORCH_VERSION);
  results.command = common.command;
  results.compressors = compressor_rates(plain_text(options.held_out.front(), options.out + "/text"));
  DemoClock clock(whole_work(plan));
  DemoRun run{plan, common, results, clock};
  std::vector<Trained> first_seed;
  for (const int64_t seed : plan.seeds)
    for (const Contender& contender : plan.contenders) {
      const auto model = train_contender(run, contender, seed, dataset, plan.folder_of(contender, seed));
      folder.keep();
      evaluate_contender(run, contender, seed, *model, dataset);
      if (seed != plan.seeds.front()) continue;
      first_seed.emplace_back(&contender, model);
      if (contender.attention != "lavo") continue;
      look_at_memory(run, *model, dataset);
      draw_sample(run, *model, dataset);
    }
  measure_recall(run);
  measure_operators(run);
  measure_streams(run, first_seed, dataset);
  clock.end();
  results.stages = clock.stages();
  results.seconds = now() - start;

  const Json metrics = demo_metrics(plan, results);
  save_json(options.out + "/" + kMetrics, metrics);
  demo_page(plan, results).save(options.out + "/" + kPage);
  if (common.json)
    print_json(metrics);
  else
    print_tables(plan, results);
}

}  // namespace

Action set_up_demo(CLI::App& app, const CommonOptions& common) {
  auto options = std::make_shared<DemoFlags>();
  app.add_option("--out", options->out, "folder of the results (default: demo)");
  app.add_flag("--overwrite", options->overwrite, "replace the results of an earlier run in --out");
  app.add_option("--text", options->text, "a text of your own; its last tenth is held out");
  app.add_option("--train", options->train, "text files to train on");
  app.add_option("--held-out", options->held_out, "text file that is held out whole");
  app.add_flag("--full", options->full, "a model of twice the width, three seeds, everything measured (hours)");
  app.add_option("--steps", options->steps, "training steps (default: 700, with --full 1500)")
      ->check(CLI::Range(1, 1 << 30));
  app.add_option("--max-length", options->max_length, "measure no length beyond this")
      ->check(CLI::Range(1024, 1 << 30));
  return [options, &common] { run_demo(*options, common); };
}

}  // namespace longspan::tool
