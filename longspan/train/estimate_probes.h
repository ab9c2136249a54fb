// Measurements that the estimate of a run is made of.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "longspan/models/config.h"
#include "longspan/nn/attention.h"
#include "longspan/train/estimate.h"
#include "longspan/train/options.h"
#include "longspan/train/step_reader.h"

namespace longspan::train {

/// What is measured, on rows of `data` that are read as windows: memory and time of a token do not depend on what a row
/// holds.
class Measurements {
 public:
  /// All must outlive it. `recompute`: whether the run does. `on_step` is called before each step.
  Measurements(const models::ModelConfig& config, const TrainData& data, const TrainOptions& options, bool recompute,
               const std::function<void()>& on_step);

  /// The most that tensors held in a few steps of `layers` layers on batch x length tokens, and the fastest of these.
  Probe memory(int64_t layers, int64_t batch, int64_t length) const;

  struct StepTimes {
    double one = 0;    ///< seconds of a step of one layer
    double layer = 0;  ///< what a second layer adds
  };
  /// Steps of one and of two layers in turn, so that both meet what else the machine does; medians.
  StepTimes times(int64_t batch, int64_t length) const;

  /// Seconds of the optimizer for each parameter.
  double optimizer_rate() const;

  /// Seconds for each flop of the attention operator, forward and backward, at this length.
  double attention_rate(nn::Attention& attention, int64_t length) const;

  static constexpr int64_t kMemorySteps = 2, kRounds = 7;

 private:
  const models::ModelConfig& config_;
  const TrainData& data_;
  const TrainOptions& options_;
  bool recompute_;
  const std::function<void()>& on_step_;
};

}  // namespace longspan::train
