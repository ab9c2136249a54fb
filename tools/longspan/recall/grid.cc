#include <CLI/CLI.hpp>

#include "longspan/base/check.h"
#include "tools/longspan/recall/recall.h"
#include "tools/longspan/settings.h"

namespace longspan::tool {

void RecallGridFlags::add(CLI::App& app) {
  app.add_option("--pairs", pairs, "pairs K of a measured row, with commas between (default: 4,8,16,32,64)");
  app.add_option("--lengths", lengths,
                 "its tokens n, with commas between; of copy, the distance D between the fact and the question "
                 "(default: 256,1024,4096)");
  app.add_option("--questions", evaluation.questions,
                 "least number of values asked for at each K and n; rows are at least 16 (default: 512)")
      ->check(CLI::Range(1, 1 << 24));
  app.add_option("--span", evaluation.span,
                 "the questions stand in so many last tokens of a row, 0: anywhere behind the pairs (default: 192)")
      ->check(CLI::Range(0, 1 << 30));
}

RecallGrid read_grid(const RecallGridFlags& flags, const RecallOptions& recall) {
  RecallGrid grid{parse_lengths("--pairs", flags.pairs), parse_lengths("--lengths", flags.lengths)};
  if (recall.task == RecallTask::copy) grid.pairs = {1};
  for (const int64_t pairs : grid.pairs)
    for (const int64_t length : grid.lengths)
      recall_questions(recall, measured_shape(recall, pairs, length, flags.evaluation.span));
  return grid;
}

Json to_json(const tasks::RecallResult& result) {
  return {{"pairs", result.pairs},         {"length", result.length},
          {"accuracy", result.accuracy},   {"standard_error", result.standard_error},
          {"whole", result.whole},         {"loss", result.loss},
          {"questions", result.questions}, {"rows", result.rows},
          {"seconds", result.seconds}};
}

}  // namespace longspan::tool
