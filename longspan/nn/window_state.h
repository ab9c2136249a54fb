// The ring of the last keys and values: what a causal sliding window needs of the past.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "longspan/nn/pch.h"
#include "longspan/nn/state.h"

namespace longspan::nn {

/// In a State: "keys" [B, Hk, reach, D] and "values" [B, Hk, reach, Dv], newest last, zeros where a stream is younger
/// than that, and "count" [B] int64, the tokens consumed. Stream b holds min(count[b], reach) real rows.
void begin_window(State& state, int64_t batch, int64_t heads, int64_t reach, int64_t width, int64_t value_width,
                  const at::TensorOptions& options);

/// Adds the tensors of begin_window() to a layout.
void describe_window(StateLayout& layout, int64_t heads, int64_t reach, int64_t width, int64_t value_width);

/// Number of real rows of every stream.
std::vector<int64_t> window_fills(const State& state);

/// Of local_attention on what join_window() gives, [B, 2]: every stream and the position of its first row.
at::Tensor dropout_origin(const State& state);

/// Whether all streams hold the same number of real rows. If not, the new tokens must come as a pack.
bool is_even(const State& state);

/// New rows by the name of their ring.
using NewRows = std::vector<std::pair<const char*, at::Tensor>>;

/// Old and new rows of every stream, one behind the other, as local_attention wants its keys (queries are the last).
struct WindowRows {
  std::map<std::string, at::Tensor> rows;  ///< [B, H, M, D], or a pack [1, H, T', D] with `cu`
  std::optional<at::Tensor> cu;
  const at::Tensor& at(const std::string& name) const { return rows.at(name); }
};

/// Joins rings of `state` with new rows ([B, H, N, D]; with `cu` [B + 1] a pack [1, H, T, D]) and moves the rings on.
/// A ring takes the dtype of its new rows. "count" is left to the caller, by advance_count().
WindowRows join_window(State& state, const NewRows& fresh, const std::optional<at::Tensor>& cu);

/// Adds the number of new tokens of each stream to "count".
void advance_count(State& state, int64_t length, const std::optional<at::Tensor>& cu);

}  // namespace longspan::nn
