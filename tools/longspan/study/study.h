// The subcommands of `longspan study`.
#pragma once

#include <string>
#include <vector>

#include "tools/longspan/command.h"
#include "tools/longspan/study/cells.h"

namespace longspan::tool {

/// In the order of `longspan study --help`.
const std::vector<Subcommand>& study_commands();

Action set_up_study_recall(CLI::App& app, const CommonOptions& common);
Action set_up_study_text(CLI::App& app, const CommonOptions& common);
Action set_up_study_cell(CLI::App& app, const CommonOptions& common);

/// Trains and measures one cell. `data`: what the study's cells share. Interrupted after a Ctrl-C.
Json run_recall_cell(const Json& config, const CellProgress& progress);
Json run_text_cell(const Json& config, const Json& data, const CellProgress& progress);

/// Of all texts of a study, `data` as run_text_cell() takes it.
std::string text_identity(const Json& data);

}  // namespace longspan::tool
