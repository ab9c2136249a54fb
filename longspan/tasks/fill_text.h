// Hidden words of a text, filled by a masked language model.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "longspan/models/encoder_model.h"
#include "longspan/tasks/examples.h"

namespace longspan::tasks {

/// What stands for a hidden token in a text.
inline constexpr const char* kMaskText = "<mask>";

struct FilledMask {
  std::vector<std::pair<std::string, double>> candidates;  ///< text of a token, probability; likeliest first
};

/// The `most` likeliest tokens for every <mask> of the text, in order. InputError, naming the record, for a text
/// without one, and for one that does not fit in a sequence.
std::vector<FilledMask> fill_text(models::EncoderModel& model, const SequenceOptions& options, const TextRecord& record,
                                  int64_t most);

}  // namespace longspan::tasks
