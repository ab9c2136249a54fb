// longspan recall eval: how many answers of a model are right, by pairs and length.
#include <CLI/CLI.hpp>
#include <memory>

#include "longspan/base/check.h"
#include "longspan/models/model_files.h"
#include "longspan/report/format.h"
#include "tools/longspan/interrupt.h"
#include "tools/longspan/live_table.h"
#include "tools/longspan/output.h"
#include "tools/longspan/progress.h"
#include "tools/longspan/recall/recall.h"

namespace longspan::tool {

namespace {

struct RecallEvalFlags {
  std::string model;
  RecallGridFlags grid;
};

void evaluate(const RecallEvalFlags& options, const CommonOptions& common) {
  const models::LoadedModel loaded = models::load_model(options.model);
  LONGSPAN_CHECK(loaded.config.contains("recall"), options.model,
                 ": expected a model of longspan recall train, got one of something else");
  RecallOptions recall;
  merge_json(recall, loaded.config["recall"]);
  recall = resolved(recall);
  const RecallGrid grid = read_grid(options.grid, recall);
  tasks::RecallEvaluation evaluation = options.grid.evaluation;
  evaluation.seed = common.seed.value_or(0);
  const bool copy = recall.task == RecallTask::copy;
  LiveTable table({{"K", true},
                   {copy ? "distance" : "n", true},
                   {"accuracy", true},
                   {"standard error", true},
                   {"whole facts", true},
                   {"questions", true},
                   {"rows", true}},
                  {});
  for (const int64_t length : grid.lengths)
    for (const int64_t pairs : grid.pairs) {
      ProgressLine progress(str_cat("recall eval, K ", pairs, ", n ", report::length_label(length), ", rows"), 0,
                            common.quiet);
      const tasks::RecallResult result =
          tasks::evaluate_recall(*loaded.model, recall, pairs, length, evaluation, [&](int64_t done, int64_t total) {
            stop_if_interrupted();
            progress.set_total(total);
            progress.update(done);
          });
      progress.finish();
      if (common.json)
        print_json(to_json(result));
      else
        print_text(table.add({std::to_string(pairs), report::length_label(length), report::fixed(result.accuracy, 4),
                              report::fixed(result.standard_error, 4), report::fixed(result.whole, 4),
                              report::grouped(result.questions), report::grouped(result.rows)}));
    }
}

}  // namespace

Action set_up_recall_eval(CLI::App& app, const CommonOptions& common) {
  auto options = std::make_shared<RecallEvalFlags>();
  app.add_option("model", options->model, "folder of the model")->required();
  options->grid.add(app);
  return [options, &common] { evaluate(*options, common); };
}

}  // namespace longspan::tool
