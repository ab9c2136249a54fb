// What the page of a training run says that its history does not.
#pragma once

#include <string>
#include <vector>

#include "longspan/data/dataset.h"
#include "longspan/train/train.h"
#include "run_recorder.h"

namespace longspan::tool {

/// Everything that does not change while the run works. `command` is the command line that began it; the model lies in
/// `folder`.
report::TrainingRun run_page(const std::string& folder, const std::vector<std::string>& command, const Dataset& dataset,
                             train::Trainer& trainer);

/// The last page of a run: done, with a text of its model drawn in at most `seconds`, or stopped. Leaves the model in
/// evaluation mode.
void finish_run_page(RunRecorder& recorder, train::Trainer& trainer, const Dataset& dataset, double seconds);

}  // namespace longspan::tool
