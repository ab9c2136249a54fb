// Examples from files, with what a person should know of them.
#pragma once

#include <string>
#include <vector>

#include "longspan/tasks/examples.h"
#include "longspan/tasks/options.h"
#include "tools/longspan/task/record_flags.h"

namespace longspan::tool {

/// Reads the files of one flag; says what was cut.
tasks::ExampleSet read_task_examples(const std::string& flag, const RecordOptions& records,
                                     const tasks::SequenceOptions& options, bool quiet);

/// The sequences that a loaded model of a task reads: of `length` tokens, 0 = as many as it was trained on.
tasks::SequenceOptions sequences_of(const models::EncoderConfig& encoder, models::HeadKind kind,
                                    const Tokenizer& tokenizer, int64_t length, const Json& config);

}  // namespace longspan::tool
