// longspan study cell: one cell of a study, which `longspan study` runs in a process of its own.
#include <ATen/Parallel.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "longspan/base/check.h"
#include "longspan/report/format.h"
#include "longspan/train/train.h"
#include "tools/longspan/output.h"
#include "tools/longspan/progress.h"
#include "tools/longspan/study/study.h"
#include "tools/longspan/timing.h"

namespace longspan::tool {

namespace {

struct StudyCellFlags {
  std::string folder, name;
};

void run_cell(const StudyCellFlags& options, const CommonOptions& common) {
  const PlannedCell cell = planned_cell(options.folder, options.name);
  ProgressLine line("study cell, steps", 0, common.quiet || common.json);
  const CellFolder folder(options.folder, cell.kind);
  const double start = now();
  double told = 0;
  const CellProgress progress = [&](int64_t step, const std::string& what) {
    line.update(step, what);
    if (!common.json || now() - told < 0.2) return;
    told = now();
    print_json({{"step", step}, {"what", what}});
  };
  Json result;
  try {
    result = cell.kind == "recall" ? run_recall_cell(cell.config, folder.model(options.name), progress)
                                   : run_text_cell(cell.config, cell.data, progress);
  } catch (const train::NonFiniteError& error) {  // a result too: the same would come of another try
    result = diverged_result(error.what());
  }
  line.finish();
  result["threads"] = at::get_num_threads();
  result["seconds"] = now() - start;
  folder.save(options.name, cell.config, result);
  if (common.json)
    print_json({{"cell", options.name}, {"result", result}});
  else
    print_text(str_cat(options.name, ": done in ", report::duration(now() - start), "\n"));
}

}  // namespace

Action set_up_study_cell(CLI::App& app, const CommonOptions& common) {
  auto options = std::make_shared<StudyCellFlags>();
  app.add_option("folder", options->folder, "folder of the study")->required();
  app.add_option("name", options->name, "name of the cell in study.json")->required();
  app.footer(
      "The result is put into cells/NAME.json of the folder, in place of an earlier one. The study takes it over.");
  return [options, &common] { run_cell(*options, common); };
}

}  // namespace longspan::tool
