// How a model is trained: one struct, complete in `config.json` as "train".
#pragma once

#include <cstdint>

#include "longspan/base/fields.h"
#include "longspan/io/json.h"

namespace longspan::train {

enum class Autocast {
  none,
  bf16,
  automatic,  ///< bf16 where fast_bfloat16()
};

struct TrainOptions {
  int64_t steps = 700;
  int64_t batch = 2;      ///< sequences a step
  int64_t length = 1024;  ///< tokens a sequence
  double learning_rate = 3e-3;
  int64_t warmup = 50;        ///< steps of linear increase
  double min_lr_ratio = 0.1;  ///< the cosine ends at this times learning_rate
  double weight_decay = 0.1;  ///< decoupled, matrices only
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  double clip = 1.0;  ///< bound of the gradient's norm, 0 = none
  int64_t seed = 0;   ///< of initial weights, windows and dropout
  Autocast autocast = Autocast::automatic;
  int64_t checkpoint_every = 0;  ///< steps, 0 = only at the end
  int64_t keep_last = 1;         ///< newest checkpoints that are kept
  int64_t keep_best = 1;         ///< checkpoints of lowest validation loss that are kept besides
  int64_t valid_every = 0;       ///< steps, 0 = only at the end
  int64_t valid_blocks = 16;     ///< windows of `length` tokens, spread evenly over the split
  double epe_lr_factor = 10;     ///< learning rate of position tables relative to the rest
};

const FieldTable<TrainOptions>& train_fields();

Json to_json(const TrainOptions& options);
/// Sets the named fields; an unknown one is an InputError with the nearest known name.
void merge_json(TrainOptions& options, const Json& json);

/// Learning rate of step 1, 2, ..., steps: linear to learning_rate at step `warmup`, then a cosine that reaches
/// min_lr_ratio * learning_rate at the last step. With warmup >= steps there is no cosine: the run ends at
/// learning_rate * steps / warmup.
double learning_rate(const TrainOptions& options, int64_t step);

}  // namespace longspan::train
