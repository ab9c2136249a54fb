// Dropout of what joins the residual stream.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace longspan::models {

/// What decides which elements of a forward pass are dropped: the seed, and where its tokens stand in all that this
/// seed is used for. Token n of row b of tokens [B, N] has the number first_token + b N + n, so parts of a batch that
/// are computed one after the other, or by other processes, drop what they would drop in one piece.
struct DropoutKey {
  uint64_t seed = 0;
  int64_t first_token = 0;
};

/// x + dropout(branch), both [B, N, E]: an element of `branch` becomes 0 with this probability, in [0, 1), and is
/// divided by 1 - probability otherwise. A pure function of the key, the token and the channel (base/dropout.h); the
/// mask is not kept for the backward pass but formed again. The result has the dtype of x.
at::Tensor add_with_dropout(const at::Tensor& x, const at::Tensor& branch, double probability, const DropoutKey& key);

/// dropout(x), [..., E], as add_with_dropout() has it: the branch alone.
at::Tensor with_dropout(const at::Tensor& x, double probability, const DropoutKey& key);

}  // namespace longspan::models
