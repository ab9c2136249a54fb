// The rolling experiment with a whole model (specification B.11): does it care where in its ring of slots a text
// begins?
#pragma once

#include <ATen/core/Tensor.h>

#include "longspan/models/encoder_model.h"
#include "longspan/nn/rolling.h"

namespace longspan::models {

/// Which position a token has that was moved.
enum class RolledPositions {
  slot,   ///< that of the slot where it stands, as when the tensor of tokens is rolled
  token,  ///< its own: only what the attention looks at changes
};

/// Where a head that reads the first token of a sequence looks.
enum class RolledFeature {
  token,  ///< at the first token, wherever it stands
  slot,   ///< at the first slot that holds a token
};

struct RollingOptions {
  nn::Rolling rolling;
  RolledPositions positions = RolledPositions::slot;
  RolledFeature feature = RolledFeature::token;
  nn::PatternRoll pattern = nn::PatternRoll::none;  ///< global tokens that the pack brings are part of the pattern
};

/// A pack whose sequences are rolled.
struct RolledPack {
  SequencePack pack;  ///< each sequence's tokens in the order of their slots
  at::Tensor place;   ///< [T] int64: the row in which each row of the pack before stands now
};
/// With positions, where the encoder adds such that are no ranks. The mask of global tokens stays as it is. InputError
/// for a sequence with more tokens than slots.
RolledPack rolled(const SequencePack& pack, const RollingOptions& options);

/// InputError when the model cannot be rolled in this way: rotary positions that should be other than ranks, learned
/// ones for fewer slots than there are, a pattern that should go along in an attention that has none.
void check_rolling(EncoderModel& model, const RollingOptions& options);

/// States [1, T, E] in the order of the pack before, as if nothing had been rolled.
struct RolledHidden {
  at::Tensor hidden;    ///< row t is the state of token t
  at::Tensor for_head;  ///< the same, but for RolledFeature::slot
};
/// Throws as check_rolling() does.
RolledHidden rolled_hidden(EncoderModel& model, const SequencePack& pack, const RollingOptions& options);

}  // namespace longspan::models
