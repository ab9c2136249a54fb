// The file of a checkpoint, as trainers of every kind write and read it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "longspan/base/check.h"
#include "longspan/io/json.h"
#include "longspan/io/safetensors.h"
#include "longspan/train/checkpoint.h"
#include "longspan/train/checkpoint_store.h"

namespace longspan::train {

inline constexpr const char* kCheckpointFormat = "longspan.training.1";
inline constexpr const char *kValidationLoss = "validation_loss", *kValidationMetric = "validation_metric";
inline constexpr const char *kTrainData = "train_data", *kValidatedOn = "validated_on";  // data_identity.h

inline std::string checkpoint_file(const std::string& folder) { return folder + "/" + kTrainingFile; }

/// Opens it; InputError for one that is missing, cut short or of another format.
SafetensorsFile open_checkpoint(const std::string& folder);

/// Metadata that is a count, an object. InputError for what is none.
int64_t integer_in(const SafetensorsFile& file, const std::string& key);
Json object_in(const SafetensorsFile& file, const std::string& key);
/// Metadata that need not be there: then "".
std::string optional_in(const SafetensorsFile& file, const std::string& key);
CheckpointInfo info_of(const SafetensorsFile& file);

/// Adds what info_of() reads of a validation.
void write_validation(std::map<std::string, std::string>& metadata, const ValidationScore& score,
                      const std::string& validated_on);

/// The shortest text that reads back as the same number.
std::string exact_text(double value);

/// Fields whose value differs, as "name before -> now", for a person.
std::string differences(const Json& before, const Json& now);

/// What `read` makes of the latest checkpoint of a folder that it accepts; what it said of later ones joins `refused`.
/// InputError, as of the latest, when it accepts none.
template <class Read>
auto read_latest(const std::string& folder, std::vector<std::string>& refused, const Read& read) {
  const auto checkpoints = find_checkpoints(folder);
  LONGSPAN_CHECK(!checkpoints.empty(), folder, ": there is no checkpoint to go on from");
  for (const auto& checkpoint : checkpoints) {
    try {
      return read(checkpoint.folder);
    } catch (const InputError& error) {
      refused.push_back(error.what());
    }
  }
  throw InputError(refused.front());
}

}  // namespace longspan::train
