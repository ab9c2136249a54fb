// Examples from files, with what a person should know of them.
#pragma once

#include <string>
#include <vector>

#include "longspan/tasks/examples.h"
#include "tools/longspan/task/record_flags.h"

namespace longspan::tool {

/// Warns of records of one flag that were cut at `length` tokens; of `set` the counts alone are read.
void tell_cut(const std::string& flag, const tasks::ExampleSet& set, int64_t length);

/// Reads the files of one flag; says what was cut and what is read in windows.
tasks::ExampleSet read_task_examples(const std::string& flag, const RecordOptions& records,
                                     const tasks::SequenceOptions& options, bool quiet);

}  // namespace longspan::tool
