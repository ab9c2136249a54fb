// What the backward pass of a step keeps, and whether the machine has room for it.
#pragma once

#include <cstdint>

#include "longspan/models/config.h"
#include "longspan/train/options.h"

namespace longspan::train {

/// Bytes of a parameter in training, in float32: itself, its gradient and two moments.
inline constexpr double kTrainedBytes = 16;

/// Tokens that a process works off at once, with all its rows in `processes` equal shares.
int64_t tokens_at_once(const TrainOptions& options, int64_t processes = 1);

/// About how many bytes of activations a forward pass over `tokens` tokens keeps for its backward pass, in float32: of
/// all layers when everything is kept, of one layer and the inputs of all when blocks are recomputed. LAVO's tensors
/// are counted; softmax and local keep a little less.
double activation_bytes(const models::ModelConfig& config, int64_t tokens, bool recompute);

/// InputError when not even weights, gradients and moments of the model have room in the usable memory: before one of
/// its tensors is made. Counts what every attention has, so a model that passes may still be too large.
void check_fits(const models::ModelConfig& config);

/// Whether blocks are recomputed: as asked for, and with `automatic` where keeping everything would take more than a
/// quarter of the usable memory. The results have the same bits either way, so the choice may depend on the machine;
/// a quarter, because the backward pass needs as much again at its height, and because other programs run too.
bool recomputes(Recompute choice, const models::ModelConfig& config, int64_t tokens);

}  // namespace longspan::train
