// What one checkpoint says of itself.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "longspan/io/json.h"

namespace longspan::train {

/// The file that makes a folder a checkpoint: everything that a run needs to go on.
inline constexpr const char* kTrainingFile = "training.safetensors";

/// How good the weights of a checkpoint are.
struct ValidationScore {
  double loss = 0;                    ///< mean nats per token
  std::optional<double> metric = {};  ///< of a task that has something better to go by; more is better
  /// A higher metric, one at all, and of equal ones the lower loss.
  bool better_than(const ValidationScore& other) const;
};

struct CheckpointInfo {
  int64_t step = 0;                           ///< optimizer steps done
  std::optional<ValidationScore> validation;  ///< after that step, where it was measured
  std::string validated_on;                   ///< on what (data_identity.h); "" where the checkpoint does not say
};

/// Reads the header of `<folder>/training.safetensors` alone. InputError when it is missing, cut short or of another
/// format.
CheckpointInfo checkpoint_info(const std::string& folder);

/// Whether a folder holds a run to go on with: it is a checkpoint, or the folder of a run that has one.
bool is_resumable(const std::string& folder);

/// {"model": complete configuration, "train": complete options} of the latest checkpoint of a folder whose header is
/// whole. InputError when there is none, or when its configuration is not that of its weights.
Json saved_configuration(const std::string& folder);

}  // namespace longspan::train
