// The subcommands of `longspan task`.
#pragma once

#include <vector>

#include "tools/longspan/command.h"

namespace longspan::tool {

/// In the order of `longspan task --help`.
const std::vector<Subcommand>& task_commands();

Action set_up_task_train(CLI::App& app, const CommonOptions& common);
Action set_up_task_eval(CLI::App& app, const CommonOptions& common);
Action set_up_task_predict(CLI::App& app, const CommonOptions& common);

}  // namespace longspan::tool
