// longspan train --dry-run: what a run will take.
#pragma once

#include "command.h"
#include "longspan/train/step_reader.h"
#include "run_config.h"

namespace longspan::tool {

/// Measures and prints, on stdout, parameters, memory, state, time and disk space of a run of `processes` processes
/// that is not begun.
void print_dry_run(const RunConfig& config, const train::TrainData& data, int64_t processes,
                   const CommonOptions& common);

}  // namespace longspan::tool
