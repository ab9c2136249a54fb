// LAVO's local attention: the local branch, and what aggregates the memory's features (specification A.6).
#include "longspan/nn/dropout_seed.h"
#include "longspan/nn/lavo.h"
#include "longspan/nn/lavo_windows.h"
#include "longspan/nn/packing.h"

namespace longspan::nn {
namespace {

/// The values stand first, the features to aggregate last; where one is both, or the only one, it is all there is.
at::Tensor first_columns(const at::Tensor& t, int64_t width) {
  return t.size(-1) == width ? t : t.narrow(-1, 0, width);
}
at::Tensor last_columns(const at::Tensor& t, int64_t width) {
  return t.size(-1) == width ? t : t.narrow(-1, t.size(-1) - width, width);
}

}  // namespace

int64_t LavoAttention::ring_columns() const {
  const bool apart = parts_.aggregated && options_.memory_proj != LavoOptions::MemoryProjection::value;
  return int64_t{parts_.values} + int64_t{apart};
}

int64_t LavoAttention::ring_heads() const {
  const bool slices = parts_.aggregated && options_.memory_proj == LavoOptions::MemoryProjection::input_slice;
  return slices ? sizes().heads : sizes().key_heads();
}

bool LavoAttention::drops_local() const { return is_training() && options_.dropout > 0; }

at::Tensor LavoAttention::local(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                const Sequences& sequences, bool in_windows) const {
  ops::LocalAttentionOptions options;
  options.reach_left = options_.w - 1;
  const bool ahead = in_windows ? bidirectional() : !causal();
  options.reach_right = ahead ? options_.w - 1 : 0;
  options.cu_seqlens = sequences.cu;
  options.cu_seqlens_k = sequences.cu_k;
  options.float32_out = q.scalar_type() == at::kBFloat16;  // features are not rounded before they are compressed
  if (drops_local()) {
    options.dropout = options_.dropout;
    options.dropout_seed = dropout_seed();
    options.dropout_origin = sequences.dropout_origin;
  }
  return ops::local_attention(q, k, v, table(), options);
}

at::Tensor LavoAttention::local_in_windows(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                           const std::optional<at::Tensor>& cu) const {
  const at::Tensor streams = cu ? *cu : uniform_cu(q.size(0), q.size(2));
  const WindowBorders windows = window_borders(whole_streams(streams), options_.w, true);
  const Sequences sequences{windows.queries, std::nullopt, windows.origin};
  if (cu) return local(q, k, v, sequences, true);
  return unflatten_heads(local(flatten_heads(q), flatten_heads(k), flatten_heads(v), sequences, true), q.size(0));
}

LavoAttention::Mixed LavoAttention::mix_rows(const Operands& in, const at::Tensor& keys, const at::Tensor& values,
                                             const Sequences& sequences,
                                             const std::function<at::Tensor(const at::Tensor&)>& in_windows) const {
  const int64_t width = sizes().head_width();
  Mixed out;
  if (blockwise()) {
    if (parts_.output) out.output = local(in.local_q, keys, first_columns(values, width), sequences, false);
    out.features = in_windows(last_columns(values, width));
    return out;
  }
  const at::Tensor mixed = local(in.local_q, keys, values, sequences, false);
  if (parts_.output) out.output = first_columns(mixed, width);
  out.features = parts_.aggregated ? last_columns(mixed, width) : in.features;
  return out;
}

LavoAttention::Mixed LavoAttention::mix(const Operands& in, const std::optional<at::Tensor>& cu) const {
  if (!parts_.local) return {{}, in.features};
  return mix_rows(in, in.keys, in.values, {cu, {}, {}},
                  [&](const at::Tensor& features) { return local_in_windows(in.local_q, in.keys, features, cu); });
}

LavoAttention::Mixed LavoAttention::mix_stream(State& next, const Operands& in, const State& state,
                                               const std::optional<at::Tensor>& cu) const {
  if (!parts_.local) return {{}, in.features};
  NewRows fresh = {{"keys", in.keys}, {"values", in.values}};
  if (bidirectional()) fresh.emplace_back("queries", in.local_q);
  const WindowRows rows = join_window(next, fresh, cu);
  const at::Tensor& keys = rows.at("keys");
  Sequences sequences{cu, rows.cu, {}};
  if (drops_local()) sequences.dropout_origin = dropout_origin(state);
  return mix_rows(in, keys, rows.at("values"), sequences, [&](const at::Tensor& features) {
    const WindowBorders windows = window_borders(stream_rows(state, *cu), options_.w, bidirectional());
    return local(bidirectional() ? rows.at("queries") : in.local_q, keys, features,
                 {windows.queries, windows.keys, windows.origin}, true);
  });
}

}  // namespace longspan::nn
