// What a training run will take, before it begins.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "longspan/models/config.h"
#include "longspan/train/options.h"
#include "longspan/train/step_reader.h"

namespace longspan::train {

/// Multiply-adds (as 2) of one optimizer step, forward and backward (twice the forward pass).
struct StepFlops {
  double projections = 0, attention = 0, feed_forward = 0, head = 0;
  double total() const { return projections + attention + feed_forward + head; }
};

/// A short training step of a model of the same width with one or two layers, on a part of a step's tokens.
struct Probe {
  int64_t layers = 0, batch = 0, length = 0;
  double seconds = 0;        ///< of one step, the faster of two
  int64_t tensor_bytes = 0;  ///< the most that tensors held, weights and optimizer included
  int64_t parameters = 0;
};

struct Estimate {
  int64_t parameters = 0;
  StepFlops flops;
  double state_bytes = 0;       ///< of one stream after `length` tokens
  double weight_bytes = 0;      ///< weights, their gradients, two moments
  double activation_bytes = 0;  ///< what else tensors hold at the worst moment of a step
  double program_bytes = 0;     ///< measured: the program, its libraries, work space of kernels
  double peak_bytes() const { return weight_bytes + activation_bytes + program_bytes; }
  double step_seconds = 0;      ///< without the exchange between processes
  double run_seconds = 0;       ///< all steps, with validation; without the time of writing checkpoints
  double checkpoint_bytes = 0;  ///< of one
  double disk_bytes = 0;        ///< checkpoints at the most
  std::vector<Probe> probes;    ///< what was measured for it
};

/// At most so many steps are measured.
inline constexpr int64_t kEstimateSteps = 25;

/// Measures steps of models of one and two layers, shape and options otherwise as asked for, on up to a few thousand
/// tokens of `data`, and the optimizer and the attention operator by themselves; extends them by the counts of the
/// cost model (nn::Attention::cost): layers, tokens, pairs. The whole model is never made. Of a run of `processes`
/// equal processes, memory and time are those of each. `on_step` is called before each step that is measured; what it
/// throws passes through. InputError for whatever Trainer would refuse.
Estimate estimate_run(const models::ModelConfig& config, const TrainData& data, const TrainOptions& options,
                      int64_t processes = 1, const std::function<void()>& on_step = {});

}  // namespace longspan::train
