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

/// How the learning rate goes on after the warm-up, see learning_rate().
enum class Schedule { cosine, inverse_sqrt, constant };

/// What a row of a step holds.
enum class Sequences {
  windows,    ///< a random window of the split
  documents,  ///< random documents, one behind the other, none of which sees another
  carried,    ///< the next tokens of the row's own part of the split, with the state that the row's last ones left
};

/// What a backward pass recomputes instead of keeping it; the bits are the same.
enum class Recompute {
  none,
  blocks,     ///< everything inside the blocks
  automatic,  ///< blocks where everything would be too much for the machine, see train/memory.h
};

struct TrainOptions {
  int64_t steps = 700;
  int64_t batch = 2;         ///< sequences a step, those of all micro-batches and processes together
  int64_t length = 1024;     ///< tokens a sequence
  int64_t accumulation = 1;  ///< micro-batches that a process works off one after the other in a step
  double learning_rate = 3e-3;
  Schedule schedule = Schedule::cosine;
  int64_t warmup = 50;        ///< steps of linear increase
  double min_lr_ratio = 0.1;  ///< where the schedule ends, relative to learning_rate
  double weight_decay = 0.1;  ///< decoupled, matrices only
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  double clip = 1.0;  ///< bound of the gradient's norm, 0 = none
  int64_t seed = 0;   ///< of initial weights, windows and dropout
  Sequences sequences = Sequences::windows;
  bool reset_at_documents = false;  ///< carried: a document begins with an empty state
  Autocast autocast = Autocast::automatic;
  Recompute recompute = Recompute::automatic;
  int64_t peer_timeout = 600;    ///< seconds that processes of one run wait for each other
  int64_t loss_chunk = 0;        ///< rows of logits at a time, 0 = as many as make 4 Mi logits
  int64_t checkpoint_every = 0;  ///< steps, 0 = only at the end
  int64_t keep_last = 1;         ///< newest checkpoints that are kept
  int64_t keep_best = 1;         ///< checkpoints of lowest validation loss that are kept besides
  int64_t valid_every = 0;       ///< steps, 0 = only at the end
  int64_t valid_blocks = 16;     ///< windows of `length` tokens, spread evenly over the split
  double epe_lr_factor = 10;     ///< learning rate of position tables relative to the rest
};

const FieldTable<TrainOptions>& train_fields();

/// InputError for a value out of its range, and for options that do not go together: batch must be a multiple of
/// accumulation times `processes`, and reset_at_documents needs sequences = carried.
void validate(const TrainOptions& options, int64_t processes = 1);

Json to_json(const TrainOptions& options);
/// Sets the named fields; an unknown one is an InputError with the nearest known name.
void merge_json(TrainOptions& options, const Json& json);

/// Learning rate of step t = 1, 2, ..., steps. With W = warmup, S = steps, l = learning_rate, m = min_lr_ratio:
///   t <= W        l t / W, whatever the schedule; with W >= S the run ends there, at l S / W
///   cosine        l (m + (1 - m) (1 + cos(pi (t - W) / (S - W))) / 2): l m at the last step
///   inverse_sqrt  l max(m, sqrt(max(W, 1) / t)): independent of S but for where the run ends; at the last step
///                 l sqrt(W / S), if that is above l m, from which it falls no further
///   constant      l
double learning_rate(const TrainOptions& options, int64_t step);

}  // namespace longspan::train
