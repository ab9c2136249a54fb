// The checkpoints in the folder of a run:
//
//   <run>/checkpoints/step-000200/   training.safetensors and a whole model (config.json, model.safetensors, ...)
//   <run>/best -> checkpoints/...    a symbolic link to the one with the best validation (ValidationScore), where there
//                                    is one; only those count that were validated on what the latest of them was
//   <run>/config.json, ...           the model of the latest checkpoint
//
// A checkpoint is written aside and renamed when all of it is on the disk; it goes in one rename too. So an entry is
// whole, whenever a process was killed, and every folder named here is a model that can be loaded.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "longspan/train/checkpoint.h"

namespace longspan::train {

/// Name of that link.
inline constexpr const char* kBestModel = "best";

struct StoredCheckpoint {
  int64_t step = 0;    ///< INT64_MAX for a checkpoint that does not say
  std::string folder;  ///< its path
};

/// Checkpoints to try for `folder`, latest first: those of a run, and `folder` itself where it is a checkpoint.
std::vector<StoredCheckpoint> find_checkpoints(const std::string& folder);

class CheckpointStore {
 public:
  /// `run`: a folder that exists; one writer at a time (io/folder_lock.h).
  explicit CheckpointStore(std::string run);

  /// Removes what a killed writer left.
  void clear_unfinished();

  /// Whether no kept checkpoint up to `step` that was validated on the same (data_identity.h) is as good.
  bool improves(int64_t step, const ValidationScore& score, const std::string& validated_on = "") const;

  /// Has `write` fill a folder aside, puts it in place as the checkpoint of `step`, and shows it as the run's model
  /// and, where it is, its best. A checkpoint of the same step is replaced; where someone has put a folder
  /// into that one, it stays as it is under a name with .1, .2, ... behind it. RunError when something cannot be
  /// written: every older checkpoint is then as it was.
  void add(int64_t step, const std::function<void(const std::string& folder)>& write);

  /// Removes all but the `last` newest up to `newest`, which was just written, and the `best` ones
  /// among them. Those of later steps, left by a continuation that was given up, go too. `<run>/best`
  /// is then the best of those that stay, or not there.
  void keep(int64_t newest, int64_t last, int64_t best);

 private:
  std::string place_of(int64_t step) const;
  std::vector<StoredCheckpoint> up_to(int64_t step) const;  ///< ascending
  void publish(int64_t step) const;
  void point_best(const std::vector<StoredCheckpoint>& among) const;

  std::string run_, checkpoints_;
};

}  // namespace longspan::train
