// The state of a delta memory as named tensors of a stream's state.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "longspan/nn/pch.h"
#include "longspan/nn/state.h"
#include "longspan/ops/delta_memory/delta_memory.h"

namespace longspan::nn {

/// How a memory forgets: not at all, by one number a token and head, or by one for each slot besides.
enum class MemoryDecay { none, scalar, per_slot };

/// A memory of R = slots by D = width numbers a head.
struct DeltaShape {
  int64_t heads = 1, slots = 1, width = 1;
  MemoryDecay decay = MemoryDecay::none;
};

/// Rows of a chunk under way, as the operator keeps them.
inline constexpr int64_t kDeltaRows = 16;

/// The dtype that a memory beside rows of `dtype` is kept in.
inline at::ScalarType delta_dtype(at::ScalarType dtype) { return dtype == at::kDouble ? at::kDouble : at::kFloat; }

/// Adds to a layout "memory" [H, R, D], "memory_keys" [H, 16, R], "memory_writes" [H, 16, D] and, with decay,
/// "memory_log_alpha" [H, 16] or [H, 16, R]. Positions are the "count" of the state, which is left to the caller.
void describe_delta(StateLayout& layout, const DeltaShape& shape);

/// Bytes of these tensors of one stream, in float32.
double delta_bytes(const DeltaShape& shape);

/// What a memory is written with: keys [B, H, N, R], values [B, H, N, D], beta [B, H, N], log_alpha [B, H, N] or
/// [B, H, N, R] where there is decay.
struct MemoryWrites {
  at::Tensor keys, values, beta;
  std::optional<at::Tensor> log_alpha;
};

/// The recurrence in float64, token by token, to look at. Of every token and head: "beta" and, with decay, "alpha" as
/// above; "writing", the keys, and "reading", the queries [B, H, N, R]; "occupancy" [B, H, N, R], the norms of the
/// slots' vectors behind the token; "novelty" [B, H, N], |e_t| / |v_t|: how much of a value the memory did not
/// foretell, 1 without delta.
std::map<std::string, at::Tensor> watch_memory(const at::Tensor& queries, const MemoryWrites& writes, bool delta);

/// The operator's state, and back: `state` goes on where `memory` stands. The count is not written.
ops::DeltaMemoryState delta_of(const State& state);
void set_delta(State& state, const ops::DeltaMemoryState& memory);

/// Zeros of a layout for `batch` streams: whole numbers on the CPU, tensors named "memory..." in delta_dtype(), the
/// rest as `options` says.
State zero_state(const StateLayout& layout, int64_t batch, const at::TensorOptions& options);

}  // namespace longspan::nn
