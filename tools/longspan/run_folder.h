// The folder of a training run, before the run begins.
#pragma once

#include <functional>
#include <string>

#include "longspan/models/model_files.h"

namespace longspan::tool {

/// Whether there is more than our lock and what a killed run leaves before its first checkpoint: unfinished files, its
/// history and the page that goes with it.
bool is_taken(const std::string& folder);

/// InputError unless `folder` holds a run to go on with; RunError where another run, which has no checkpoint yet, is at
/// work there.
void check_resumable(const std::string& folder);

/// Says what a model that begins from the one in `folder` did not get from it.
void tell_initial_weights(const std::string& folder, const models::InitialWeights& taken,
                          const std::function<void(const std::string&)>& tell);

}  // namespace longspan::tool
