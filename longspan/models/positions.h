// Absolute positions: the rank of each token among the valid tokens of its stream.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

namespace longspan::models {

/// Positions of tokens [B, N]: `start` [B] (undefined = 0) plus the rank of each token among the valid ones; with
/// cu_seqlens [S + 1] the rank inside its sequence. Invalid places get position 0, so that padding never goes beyond a
/// table. int64 [B, N]. Masks must fit the tokens.
at::Tensor ranks(int64_t batch, int64_t length, const at::Tensor& start, const std::optional<at::Tensor>& valid,
                 const std::optional<at::Tensor>& cu_seqlens);

/// Fixed table [..., E] for positions [...]: frequencies 10000^(-i / (E/2 - 1)), i < E/2, first half sine, second half
/// cosine; an odd last channel is 0. Angles are formed in float64, because a float32 angle at position 10^6 is off by
/// 0.03.
at::Tensor sinusoidal(const at::Tensor& positions, int64_t width, at::ScalarType dtype);

}  // namespace longspan::models
