// Where in a computation numbers stop being finite, and what a run leaves of a step in which they did:
//
//   <run>/nonfinite/training.safetensors, config.json, ...   a checkpoint of the state before that step
//   <run>/nonfinite/batch.safetensors                        its tokens, "batch.0" [B, N + 1], ...
//   <run>/nonfinite/nonfinite.json                           step, message, origin, and how to see it again
//
// Going on from that checkpoint repeats the step: `longspan train DATA --out RUN/nonfinite --resume`.
#pragma once

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

}  // namespace longspan::train
