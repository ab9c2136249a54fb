// longspan prepare: text files to a dataset.
#include <CLI/CLI.hpp>
#include <memory>
#include <optional>

#include "command.h"
#include "interrupt.h"
#include "log.h"
#include "longspan/data/dataset.h"
#include "longspan/report/format.h"
#include "longspan/report/table.h"
#include "output.h"
#include "prepare_progress.h"

namespace longspan::tool {

namespace {

void prepare(const DatasetOptions& options, const CommonOptions& common) {
  PrepareProgress progress(common.quiet);
  const auto splits = write_dataset(options, progress);
  progress.finish();
  report::Table table;
  table.columns = {{"split"}, {"tokens", true}, {"source bytes", true}, {"documents", true}};
  for (const auto& [name, info] : splits) {
    if (common.json)
      print_json({{"split", name},
                  {"tokens", info.tokens},
                  {"source_bytes", info.source_bytes},
                  {"documents", info.documents}});
    table.rows.push_back(
        {name, report::grouped(info.tokens), report::grouped(info.source_bytes), std::to_string(info.documents)});
  }
  if (!common.json) print_text(report::to_text(table));
}

}  // namespace

Action set_up_prepare(CLI::App& app, const CommonOptions& common) {
  auto options = std::make_shared<DatasetOptions>();
  app.add_option("files", options->inputs, "text files to train on, in this order")->required();
  app.add_option("--out", options->output, "folder of the dataset")->required();
  app.add_option("--held-out", options->held_out, "text files of the split test, never trained on");
  app.add_option("--valid-fraction", options->valid_fraction,
                 "part of the training text, from its end, that becomes the split valid (default: 0.02)");
  app.add_flag("--overwrite", options->overwrite, "replace an existing dataset");
  return [options, &common] { prepare(*options, common); };
}

}  // namespace longspan::tool
