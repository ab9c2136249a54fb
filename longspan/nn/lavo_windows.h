// LAVO's windows [c w, (c + 1) w) of streams, cut into the sequences of a pack (specification A.6).
#pragma once

#include <cstdint>
#include <vector>

#include "longspan/nn/pch.h"
#include "longspan/nn/state.h"

namespace longspan::nn {

/// Rows of several streams, one behind the other on a row axis: stream b has `held[b]` old rows and then `fresh[b]` new
/// ones, the first of which stands at position `start[b]` >= held[b].
struct StreamRows {
  std::vector<int64_t> held, fresh, start;
};

/// Streams that go on from a state with a ring (window_state.h), by borders `cu` of their new rows.
StreamRows stream_rows(const State& state, const at::Tensor& cu);
/// Whole streams: borders `cu` of a pack, from position 0 on.
StreamRows whole_streams(const at::Tensor& cu);

/// Borders of all windows of `w` positions, for local_attention: rows of two windows do not meet. What is held of the
/// window before that of the first new row makes a sequence of its own, so windows are complete but for those and the
/// last. With `old_queries` the held rows are queries too (keys then equals queries).
struct WindowBorders {
  at::Tensor queries, keys;
  /// [windows, 2]: the stream, and the position of the first key, as dropout_origin of local_attention.
  at::Tensor origin;
};
WindowBorders window_borders(const StreamRows& rows, int64_t w, bool old_queries);

/// How a stream is read on when the features of a window are known only once it is complete.
struct WindowSteps {
  /// Rows (of held and new ones together) of the windows that the new rows complete; the same rows as 1 + their number
  /// among the new ones, 0 for held ones; their borders, and the position of the first in each stream.
  at::Tensor complete, complete_queries, complete_cu, complete_start;
  /// New rows behind the last complete window (among the new rows alone), their borders, and their positions.
  at::Tensor rest, rest_cu, rest_start;
  /// The new rows in order, as rows of `complete` and then `rest`.
  at::Tensor order;
};
WindowSteps window_steps(const StreamRows& rows, int64_t w);

}  // namespace longspan::nn
