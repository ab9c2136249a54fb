// longspan train --dry-run: what a run will take.
#pragma once

#include "command.h"
#include "longspan/data/dataset.h"
#include "run_config.h"

namespace longspan::tool {

/// Measures and prints, on stdout, parameters, memory, state, time and disk space of a run that is not begun.
void print_dry_run(const RunConfig& config, const Dataset& dataset, const CommonOptions& common);

}  // namespace longspan::tool
