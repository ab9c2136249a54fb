// Whether two runs read the same data.
#pragma once

#include <string>

#include "longspan/data/token_file.h"
#include "longspan/train/options.h"
#include "longspan/train/step_reader.h"

namespace longspan::train {

/// What tells a split from others: its number of tokens and a fingerprint of 256 pieces of it, spread evenly, the
/// beginning and the end among them. Short splits are read whole.
std::string identity_of(const TokenFile& tokens);

/// What a validation loss is measured on: the split and what is read of it. Losses of different ones say nothing of
/// each other. "" without a validation split.
std::string validation_identity(const TrainData& data, const TrainOptions& options);

}  // namespace longspan::train
