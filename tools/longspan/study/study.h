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

/// Trains and measures one cell. Interrupted after a Ctrl-C. `model_folder`: where the model goes, in place of what an
/// earlier try left there, if the cell keeps it ("keep_model"); `data`: what the study's cells share.
Json run_recall_cell(const Json& config, const std::string& model_folder, const CellProgress& progress);
Json run_text_cell(const Json& config, const Json& data, const CellProgress& progress);

/// Tokens of a validation window of a model trained on windows of `length`.
int64_t validated_length(int64_t length);
/// Of all texts of a study, `data` as run_text_cell() takes it.
std::string text_identity(const Json& data);

}  // namespace longspan::tool
