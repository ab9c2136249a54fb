// The subcommands of `longspan recall`.
#pragma once

#include <string>
#include <vector>

#include "longspan/tasks/recall.h"
#include "tools/longspan/command.h"

namespace longspan::tool {

/// In the order of `longspan recall --help`.
const std::vector<Subcommand>& recall_commands();

Action set_up_recall_train(CLI::App& app, const CommonOptions& common);
Action set_up_recall_eval(CLI::App& app, const CommonOptions& common);
Action set_up_recall_show(CLI::App& app, const CommonOptions& common);

/// What a model is measured at, as flags.
struct RecallGridFlags {
  std::string pairs = "4,8,16,32,64", lengths = "256,1024,4096";
  tasks::RecallEvaluation evaluation;

  /// This outlives the parser.
  void add(CLI::App& app);
};

/// The cells of a grid, in the order of the flags.
struct RecallGrid {
  std::vector<int64_t> pairs, lengths;
};
/// copy has one pair, whatever the flag says. InputError, before anything is measured, for a row without room.
RecallGrid read_grid(const RecallGridFlags& flags, const RecallOptions& recall);

/// {"pairs", "length", "accuracy", "standard_error", "whole", "loss", "questions", "rows", "seconds"}
Json to_json(const tasks::RecallResult& result);

}  // namespace longspan::tool
