// Which of the models in the folder of a run is read.
#pragma once

#include <string>

namespace longspan::tool {

/// `folder`, or the best model in it where a run has left one (train/checkpoint_store.h) and `latest` is off.
std::string model_to_read(const std::string& folder, bool latest);

/// What the flag for `latest` says.
inline constexpr const char* kLatestHelp = "read the latest model of a run, not its best";

}  // namespace longspan::tool
