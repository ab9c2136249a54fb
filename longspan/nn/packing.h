// Packs: several sequences of different lengths, one behind the other on one row axis.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "longspan/nn/pch.h"

namespace longspan::nn {

/// The valid tokens of a padded batch, gathered (specification A.8).
struct Pack {
  at::Tensor rows;   ///< [1, T, E], T = number of valid tokens
  at::Tensor cu;     ///< [B + 1] int64 on the CPU, from 0 to T
  at::Tensor index;  ///< [T] int64, where a row stood in the flattened [B * N]
};

/// Gathers the rows of x [B, N, E] where valid [B, N] is true. Other rows are not read, so NaN there goes nowhere, and
/// they receive a gradient of exactly 0.
Pack pack(const at::Tensor& x, const at::Tensor& valid);

/// Scatters y [1, T, E'] back to [B, N, E'], zeros at the other places.
at::Tensor unpack(const at::Tensor& y, const Pack& pack, int64_t batch, int64_t length);

/// A dense batch x [B, N, E] as the pack [1, B N, E], and its borders.
at::Tensor flatten_batch(const at::Tensor& x);
at::Tensor uniform_cu(int64_t sequences, int64_t length);

/// Borders [S + 1] as numbers. `cu` is int64, contiguous and on the CPU.
std::vector<int64_t> borders(const at::Tensor& cu);
/// Borders of sequences with these lengths.
at::Tensor cu_from_lengths(const std::vector<int64_t>& lengths);
/// An int64 tensor on the CPU with these values.
at::Tensor index_tensor(const std::vector<int64_t>& values);

/// For each row of a pack the sequence it belongs to, [T].
at::Tensor sequence_of_row(const at::Tensor& cu);
/// For each row of a pack its rank within its sequence plus that sequence's `start` [S] (undefined: 0), [T].
at::Tensor rank_of_row(const at::Tensor& cu, const at::Tensor& start = {});
/// Position of every row in its stream, as it broadcasts over rows [B, H, N, D]: for a pack rank_of_row() [T], for a
/// dense batch of `length` [N], or [B, 1, N] where the streams begin at `start` [B].
at::Tensor positions_of_rows(int64_t length, const std::optional<at::Tensor>& cu, const at::Tensor& start = {});

/// Heads as the rows of one pack, [B, H, N, D] -> [1, H, B N, D], and back.
at::Tensor flatten_heads(const at::Tensor& heads);
at::Tensor unflatten_heads(const at::Tensor& pack, int64_t batch);
/// [B, Hk, N, D] -> [B, H, N, D], each head as often as query heads read it.
at::Tensor spread_heads(const at::Tensor& rows, int64_t heads);

}  // namespace longspan::nn
