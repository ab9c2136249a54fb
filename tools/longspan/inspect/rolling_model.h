// `longspan inspect rolling MODEL`: a trained model of a task on examples that are rolled round.
#pragma once

#include <string>
#include <vector>

#include "longspan/nn/rolling.h"
#include "tools/longspan/command.h"
#include "tools/longspan/task/reading_flags.h"
#include "tools/longspan/task/record_flags.h"

namespace CLI {
class Option;
}

namespace longspan::tool {

struct RollingModelOptions {
  std::string model, positions = "slot", feature = "token";
  std::vector<std::string> data;
  RecordFlags records;
  ReadingFlags reading;
  int64_t slots = 0, examples = 0;
  bool unlabelled = false, latest = false;
};

/// Adds the flags that only a model has a use for, but for those of the files of examples, and returns them.
std::vector<CLI::Option*> add_rolling_model_flags(CLI::App& app, RollingModelOptions& options);

/// Shifts in the order in which they are given, or where `given` is "" 0, 1, 2, 4, ... up to half of `ring`. InputError
/// for what is no list of numbers from 0 to ring - 1, each once.
std::vector<int64_t> shifts_of(const std::string& given, int64_t ring);

/// `shifts`: as the flag has them, "" for the usual ones; `roll_pattern`: as nn::PatternRoll says, its name for people.
/// `svg`: a file that may be replaced, or "".
void inspect_rolling_model(const RollingModelOptions& options, const std::string& shifts, nn::PatternRoll roll,
                           const std::string& roll_pattern, const std::string& svg, const CommonOptions& common);

}  // namespace longspan::tool
