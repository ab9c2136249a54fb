// The subjects of `longspan inspect`.
#pragma once

#include <vector>

#include "tools/longspan/command.h"

namespace longspan::tool {

/// In the order of `longspan inspect --help`.
const std::vector<Subcommand>& inspect_subjects();

Action set_up_inspect_attentions(CLI::App& app, const CommonOptions& common);
Action set_up_inspect_config(CLI::App& app, const CommonOptions& common);
Action set_up_inspect_contraction(CLI::App& app, const CommonOptions& common);
Action set_up_inspect_lavo(CLI::App& app, const CommonOptions& common);
Action set_up_inspect_pattern(CLI::App& app, const CommonOptions& common);
Action set_up_inspect_rolling(CLI::App& app, const CommonOptions& common);
Action set_up_inspect_spectrum(CLI::App& app, const CommonOptions& common);
Action set_up_inspect_tradeoff(CLI::App& app, const CommonOptions& common);

}  // namespace longspan::tool
