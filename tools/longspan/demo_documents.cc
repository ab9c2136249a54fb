// longspan demo-documents: encoders with different attentions on the same long documents.
#include <ATen/Parallel.h>
#include <torch/version.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <map>
#include <memory>

#include "command.h"
#include "demo_documents/page.h"
#include "demo_documents/run.h"
#include "environment.h"
#include "longspan/base/check.h"
#include "longspan/data/tokenizer_file.h"
#include "longspan/io/json.h"
#include "longspan/report/format.h"
#include "output.h"
#include "result_folder.h"
#include "timing.h"
#include "tools/longspan/result_files.h"

namespace longspan::tool {

namespace {

struct DemoDocumentsFlags {
  std::string data, out = "demo-documents";
  bool full = false, overwrite = false;
  int64_t steps = 0, max_length = 0;
};

using Examples = std::map<std::string, TaskExamples>;  ///< by task

/// Every attention on every task with one seed; the encoders of a task serve those that go on from it. Returns those of
/// the last attention by task.
std::map<std::string, TrainedEncoder> train_everything(DocumentRun& run, int64_t seed, const Examples& examples) {
  std::map<std::string, TrainedEncoder> encoders;
  for (const DocumentContender& contender : run.plan.contenders) {
    encoders.clear();
    for (const DocumentTask& task : run.plan.tasks) {
      const TrainedEncoder from = task.from.empty() ? nullptr : encoders.at(task.from);
      auto [score, model] = train_document_task(run, task, examples.at(task.name), contender, seed, from);
      run.results.scores.push_back(std::move(score));
      encoders[task.name] = std::move(model);
    }
  }
  return encoders;
}

/// softmax, the last of the attentions, on the beginnings of the documents.
void measure_windows(DocumentRun& run, const std::map<std::string, TrainedEncoder>& encoders) {
  const DocumentContender& softmax = run.plan.contenders.back();
  for (const DocumentTask& task : run.plan.tasks) {
    if (task.window == 0) continue;
    DocumentTask cut = task;
    cut.tokens = task.window;
    const TaskExamples beginnings = read_task(run, cut);
    const TrainedEncoder from = task.from.empty() ? nullptr : encoders.at(task.from);
    const DocumentScore score = train_document_task(run, cut, beginnings, softmax, run.plan.seeds.front(), from).first;
    run.results.yardsticks.push_back({task.name, str_cat("softmax on the first ", task.window, " tokens"), score.test});
  }
}

void print_tables(const DocumentPlan& plan, const DocumentResults& results) {
  std::string text = "\nRight answers on the test documents:\n" +
                     report::indent(report::to_text(score_table(plan, results)), 2) + "\nTime of a training step:\n" +
                     report::indent(report::to_text(step_table(plan, results)), 2) + "\n";
  for (const DocumentTask& task : plan.tasks) text += task_sentence(plan, results, task) + "\n";
  print_text(text);
}

void demo_documents(const DemoDocumentsFlags& options, const CommonOptions& common) {
  const double start = now();
  DocumentPlan plan = make_document_plan(options.data, options.full, options.steps, options.max_length);
  plan.out = options.out;
  if (common.seed)
    for (int64_t& seed : plan.seeds) seed += static_cast<int64_t>(*common.seed);
  const std::string list = plan.data + "/sources.json";
  LONGSPAN_CHECK(std::filesystem::exists(list), "--data: ", list,
                 " is missing; scripts/fetch-documents.sh makes such a folder, build/documents");
  const Json sources = load_json(list);
  const auto tokenizer = load_tokenizer(plan.data);

  DocumentResults results;
  results.sources = sources.value("sources", Json::array());
  results.environment = this_environment(at::get_num_threads(), TORCH_VERSION);
  results.command = common.command;
  DocumentRun run{plan, common, *tokenizer, results};
  Examples examples;
  for (const DocumentTask& task : plan.tasks) {
    const TaskExamples& read = examples.emplace(task.name, read_task(run, task)).first->second;
    // What is asked of a cut document may be in the part that is lost.
    for (const tasks::ExampleSet* set : {&read.train, &read.valid, &read.test})
      LONGSPAN_CHECK(task.kind != DocumentTask::Kind::classification || set->truncated == 0,
                     "demo-documents: a document of '", task.name, "' has ", set->longest_record, " tokens, more than ",
                     task.tokens);
  }
  ResultFolder folder(plan.out, {"demo-documents", {kMetrics, kPage}, {}}, options.overwrite);
  for (const DocumentTask& task : plan.tasks) measure_data(run, task, examples.at(task.name));
  for (const int64_t seed : plan.seeds) {
    const auto encoders = train_everything(run, seed, examples);
    if (seed == plan.seeds.front()) measure_windows(run, encoders);
  }
  measure_steps(run);
  results.seconds = now() - start;

  const Json metrics = document_metrics(plan, results);
  save_json(plan.out + "/" + kMetrics, metrics);
  document_page(plan, results).save(plan.out + "/" + kPage);
  folder.keep();
  if (common.json)
    print_json(metrics);
  else
    print_tables(plan, results);
}

}  // namespace

Action set_up_demo_documents(CLI::App& app, const CommonOptions& common) {
  auto options = std::make_shared<DemoDocumentsFlags>();
  app.add_option("--data", options->data,
                 "folder of the tasks: NAME/{train,valid,test}.jsonl, sources.json and a tokenizer; "
                 "scripts/fetch-documents.sh makes it")
      ->required();
  app.add_option("--out", options->out, "folder of the results (default: demo-documents)");
  app.add_flag("--overwrite", options->overwrite, "replace the results of an earlier run in --out");
  app.add_flag("--full", options->full, "more tasks and steps, three seeds (hours)");
  app.add_option("--steps", options->steps, "training steps of a task at the most")->check(CLI::Range(1, 1 << 30));
  app.add_option("--max-length", options->max_length, "measure no step at more tokens than this")
      ->check(CLI::Range(1024, 1 << 30));
  return [options, &common] { demo_documents(*options, common); };
}

}  // namespace longspan::tool
