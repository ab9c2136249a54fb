// The ring of the last keys and values: what a causal sliding window needs of the past.
#pragma once

#include "longspan/nn/pch.h"
#include "longspan/nn/state.h"

namespace longspan::nn {

/// In a State: "keys" and "values" [B, H, reach, D], newest last, zeros where a stream is younger than that, and
/// "count" [B] int64, the tokens consumed. Stream b holds min(count[b], reach) real rows.
void begin_window(State& state, int64_t batch, int64_t heads, int64_t reach, int64_t width,
                  const at::TensorOptions& options);

/// Adds the tensors of begin_window() to a layout.
void describe_window(StateLayout& layout, int64_t heads, int64_t reach, int64_t width);

/// Whether all streams hold the same number of real rows. If not, the new tokens must come as a pack.
bool is_even(const State& state);

/// Old and new keys of every stream, one behind the other, as local_attention wants them (queries are the last rows).
struct WindowKeys {
  at::Tensor keys, values;  ///< [B, H, M, D], or a pack [1, H, T', D] with `cu`
  std::optional<at::Tensor> cu;
};

/// Joins the ring of `state` with new k and v ([B, H, N, D]; with `cu` [B + 1] a pack [1, H, T, D]) and moves the ring
/// on. The ring takes the dtype of the new rows. "count" is left to the caller, by advance_count().
WindowKeys join_window(State& state, const at::Tensor& k, const at::Tensor& v, const std::optional<at::Tensor>& cu);

/// Adds the number of new tokens of each stream to "count".
void advance_count(State& state, int64_t length, const std::optional<at::Tensor>& cu);

}  // namespace longspan::nn
