// Where in a computation numbers stop being finite, and what a run leaves of a step in which they did:
//
//   <run>/nonfinite/training.safetensors, config.json, ...   a checkpoint of the state before that step
//   <run>/nonfinite/batch.safetensors                        what it read: "batch.0", ...
//   <run>/nonfinite/nonfinite.json                           step, message, origin, and how to see it again
//
// Going on from that checkpoint repeats the step: `longspan train DATA --out RUN/nonfinite --resume`, and likewise
// `longspan task train`.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "longspan/io/json.h"
#include "longspan/models/tensor_files.h"

namespace longspan::train {

struct NonFiniteOrigin {
  std::vector<std::string> weights;  ///< weights and buffers that hold such numbers before anything is computed
  std::string op;                    ///< the first operator whose result has one, such as "aten::addmm"; "" for none
  std::string module;                ///< of the weight that was read last by then, such as "blocks.1.feed_forward.up"
  bool backward = false;             ///< whether it is part of a backward pass
};

/// Calls `computation` and looks at the result of every torch operator that it runs on this thread: slow, and up to the
/// first number that is not finite. What it throws passes through unless that number was found.
NonFiniteOrigin find_nonfinite(const models::NamedTensors& weights, const std::function<void()>& computation);

/// {"weights": [...], "operator": ..., "module": ..., "pass": "forward" or "backward"}, null for what is not known.
Json to_json(const NonFiniteOrigin& origin);

/// "in the forward pass, at aten::addmm of blocks.1.feed_forward.up", for a person.
std::string to_text(const NonFiniteOrigin& origin);

/// A step whose loss or gradient was not finite, and which changed nothing.
struct FailedStep {
  int64_t step = 0;
  std::string message;
  double learning_rate = 0;
  bool bfloat16 = false;
  std::string command;         ///< that trains, but for --out, --resume and --threads: "longspan train DATA"
  models::NamedTensors batch;  ///< what it read
  Json more = {};              ///< further members of nonfinite.json
};

/// Writes <run>/nonfinite, in the place of an earlier one, and returns the message with what was found: `save` writes a
/// checkpoint into a folder, `again` takes the step again and throws as it did, if it fails. What could not be written
/// is said in the message.
std::string keep_failed_step(const std::string& run, const FailedStep& failed, const models::NamedTensors& weights,
                             const std::function<void(const std::string& folder)>& save,
                             const std::function<void()>& again);

}  // namespace longspan::train
