// What files of states and of sessions share: tensors bound to a model, checked before anything is believed.
#pragma once

#include <map>
#include <string>

#include "longspan/io/state_file.h"
#include "longspan/models/language_model.h"
#include "longspan/models/tensor_files.h"

namespace longspan::models {

using Metadata = std::map<std::string, std::string>;

/// What else than a state's tensors a file holds.
using ExtraTensors = std::map<std::string, ExtraTensor>;

/// The tensors of a state as a file names them.
NamedTensors state_tensors(const ModelState& state);
/// The other way round; `tensors` have been read by read_bound().
ModelState state_from(const NamedTensors& tensors, const LanguageModel& model);

/// Over tensors and metadata, without "fingerprint" itself.
std::string content_fingerprint(const NamedTensors& tensors, const Metadata& metadata);

/// Writes tensors and metadata with the model's configuration, weights and number format and a fingerprint of it all,
/// atomically.
void write_bound(const std::string& path, const std::string& format, const LanguageModel& model,
                 const NamedTensors& tensors, Metadata metadata);

/// Reads a file of write_bound(): a state of any number of streams and the tensors of `extra`, all of them.
/// InputError naming what differs: another format, another configuration (its first field), number format or weights,
/// tensors that no state of the model can have, content that was altered after it was written.
NamedTensors read_bound(const SafetensorsFile& file, const std::string& format, const LanguageModel& model,
                        const ExtraTensors& extra = {});

}  // namespace longspan::models
