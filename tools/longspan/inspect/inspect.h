// The subjects of `longspan inspect`.
#pragma once

#include <string>

#include "tools/longspan/command.h"

namespace longspan::tool {

Action set_up_inspect_attentions(CLI::App& app, const CommonOptions& common);
Action set_up_inspect_lavo(CLI::App& app, const CommonOptions& common);
Action set_up_inspect_pattern(CLI::App& app, const CommonOptions& common);

}  // namespace longspan::tool
