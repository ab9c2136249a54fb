// LAVO looked at from inside: the definitions of specification A.5 and A.6 in float64, slot by slot and offset by
// offset.
#include <cmath>
#include <limits>

#include "longspan/nn/lavo.h"
#include "longspan/nn/packing.h"

namespace longspan::nn {
namespace {

/// Every row's neighbours at offsets -left ... right, [B, H, N, D] -> [B, H, N, D, left + 1 + right]; zeros outside.
at::Tensor neighbours(const at::Tensor& rows, int64_t left, int64_t right) {
  if (rows.size(2) == 0) return rows.unsqueeze(-1).expand({-1, -1, -1, -1, left + 1 + right});
  return at::constant_pad_nd(rows, {0, 0, left, right}).unfold(2, left + 1 + right, 1);
}

/// [N, left + 1 + right]: whether the neighbour exists and, with `block` > 0, stands in the same block.
at::Tensor readable(int64_t length, int64_t left, int64_t right, int64_t block) {
  const at::Tensor own = at::arange(length, at::kLong).unsqueeze(1);
  const at::Tensor other = own + at::arange(-left, right + 1, at::kLong);
  const at::Tensor inside = (other >= 0).logical_and(other < length);
  if (block == 0) return inside;
  return inside.logical_and(other.clamp_min(0).floor_divide(block) == own.floor_divide(block));
}

/// Softmax over the neighbours; `table` [H or 1, left + 1 + right] is added.
at::Tensor weights(const at::Tensor& q, const at::Tensor& k, const at::Tensor& table, int64_t left, int64_t right,
                   int64_t block) {
  const double scale = 1 / std::sqrt(static_cast<double>(q.size(3)));
  at::Tensor scores = (q.unsqueeze(-1) * neighbours(k, left, right)).sum(3) * scale;
  if (table.defined()) scores = scores + table.unsqueeze(1);
  const at::Tensor hidden = readable(q.size(2), left, right, block).logical_not();
  return scores.masked_fill(hidden, -std::numeric_limits<double>::infinity()).softmax(-1);
}

at::Tensor mixed(const at::Tensor& weights, const at::Tensor& rows, int64_t left, int64_t right) {
  return (weights.unsqueeze(3) * neighbours(rows, left, right)).sum(-1);
}

/// H_t of projected features z [B, H, N, R]: means over j <= t, or with `window` > 0 over the windows before t's own.
at::Tensor running_means(const at::Tensor& z, int64_t window) {
  const int64_t length = z.size(2);
  at::Tensor count = at::arange(1, length + 1, at::kLong);
  const at::Tensor sums = at::constant_pad_nd(z.cumsum(2), {0, 0, 1, 0});  // row c: of the first c
  if (window > 0) count = (count - 1).floor_divide(window) * window;
  return sums.index_select(2, count) / count.clamp_min(1).to(at::kDouble).unsqueeze(1);
}

}  // namespace

std::map<std::string, at::Tensor> LavoAttention::inspect_dense(const at::Tensor& x,
                                                               const std::optional<at::Tensor>& source) {
  const int64_t heads = sizes().heads, reach = options_.w - 1, right = causal() ? 0 : reach;
  const auto wide = [&](const at::Tensor& t) { return t.defined() ? spread_heads(t.to(at::kDouble), heads) : t; };
  const Operands in = project(x, source ? *source : x, RotaryPositions(sizes(), x, std::nullopt));
  const at::Tensor q = wide(in.local_q), k = wide(in.keys);
  const at::Tensor table = position_table_.defined() ? position_table_.to(at::kDouble) : at::Tensor();
  const auto part = [&](int64_t to_right) {  // of the table, for offsets -reach ... to_right
    return table.defined() ? table.narrow(1, 0, reach + 1 + to_right) : table;
  };
  std::map<std::string, at::Tensor> out;
  at::Tensor features = wide(in.features);
  if (parts_.local) out["local_weights"] = weights(q, k, part(right), reach, right, 0);
  if (blockwise()) {
    const int64_t ahead = bidirectional() ? reach : 0;
    const at::Tensor history =
        at::constant_pad_nd(weights(q, k, part(ahead), reach, ahead, options_.w), {0, reach - ahead});
    out["history_weights"] = history;
    features = mixed(history, features, reach, reach);
  } else if (parts_.aggregated) {
    features = mixed(out.at("local_weights"), features, reach, right);
  }
  if (!parts_.memory) return out;

  const at::Tensor basis = basis_.rows().to(at::kDouble);
  out["basis"] = basis.expand({heads, -1, -1});
  const at::Tensor z = at::matmul(features, basis.transpose(-1, -2));
  const at::Tensor slots = causal() ? running_means(z, by_window() ? options_.w : 0)
                                    : z.sum(2, true) / static_cast<double>(std::max<int64_t>(z.size(2), 1));
  at::Tensor scores = at::matmul(in.q.to(at::kDouble), basis.transpose(-1, -2)) * slots * fixed_scale();
  if (log_scale_.defined()) scores = scores * log_scale_.to(at::kDouble).exp().view({-1, 1, 1});
  out["slots"] = slots;
  out["reading"] = scores.softmax(-1);
  return out;
}

}  // namespace longspan::nn
