// The composed form: every piece of the pattern is one batched product of tiles and panels (panels.h), the rest a loop
// over its lists (edge_products.h). Memory is linear in the number of tokens, the number of calls does not depend on
// it, and no value of a tensor that may lie on a device is read.
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/full.h>
#include <ATen/ops/log.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "longspan/base/diffusion_seeds.h"
#include "longspan/ops/common/dropout.h"
#include "longspan/ops/diffusion/aten_forms.h"
#include "longspan/ops/diffusion/edge_products.h"
#include "longspan/ops/diffusion/panels.h"

namespace longspan::ops::diffuse {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

at::Tensor on_device(const std::vector<int64_t>& values, at::IntArrayRef sizes, const at::Tensor& like) {
  const at::Tensor out = at::empty({static_cast<int64_t>(values.size())}, at::kLong);
  std::copy(values.begin(), values.end(), out.mutable_data_ptr<int64_t>());
  return out.to(like.device(), /*non_blocking=*/true).view(sizes);
}

/// One piece: its panel on the device of the operands, and its weights. What a dimension is named after in shapes:
/// T, I, J as in Panel; R = T I.
class Piece {
 public:
  Piece(const Panel& panel, const Call& call, const Options& options)
      : tiles_(panel.tiles), queries_(panel.queries), keys_(panel.keys), single_pairs_(panel.single_pairs) {
    query_ = on_device(panel.query, {tiles_ * queries_}, call.q);
    const at::Tensor key = on_device(panel.key, {tiles_, 1, keys_}, call.q);
    const auto limit = [&](const std::vector<int64_t>& values) {
      return on_device(values, {tiles_, queries_, 1}, call.q);
    };
    const at::Tensor place = at::arange(keys_, key.options());
    const at::Tensor hole = (place >= limit(panel.hole_begin)).logical_and(place < limit(panel.hole_end));
    meet_ = (place >= limit(panel.begin)).logical_and(place < limit(panel.end)).logical_and(hole.logical_not());
    meet_ = meet_.logical_and(key >= 0);
    key_ = key.clamp_min(0).view(-1);
    if (single_pairs_) key_of_slot_ = key_.view({tiles_, keys_}).t().contiguous();
    score(call, options);
  }

  /// The largest score of each row, [b, H, N + 1], where `so_far` has that of other pieces.
  at::Tensor largest(const at::Tensor& so_far) const {
    const at::Tensor own = scores_.detach().amax(-1).flatten(2);
    return so_far.scatter_reduce(2, query_.expand(own.sizes()), own, "amax");
  }
  /// Puts exp(score - largest) in the place of scores and returns their sums, [b, H, N + 1].
  at::Tensor exponentiate(const at::Tensor& largest) {
    scores_ = at::exp(scores_ - of_rows(largest)).masked_fill(meet_.logical_not(), 0);
    return to_rows(scores_.sum(-1).flatten(2).unsqueeze(-1), largest.size(2)).squeeze(-1);
  }
  /// Divides by the sums of the rows: what is left are weights.
  void normalise(const at::Tensor& sums) { scores_ = scores_ / of_rows(sums); }

  /// The weights times z [b, H, n, W], to [b, H, N + 1, W].
  at::Tensor mix(const at::Tensor& weights, const at::Tensor& z, int64_t rows) const {
    if (single_pairs_) return to_rows(edge_mix(weights.squeeze(3), z, key_of_slot_), rows);
    return to_rows(at::matmul(weights, panel_of(z)).flatten(2, 3), rows);
  }
  const at::Tensor& weights() const { return scores_; }
  at::Tensor dropped(const DropoutMask& dropout, const Call& call) const {
    const int64_t batch = call.q.size(0), heads = call.q.size(1);
    const at::Tensor head = at::arange(heads, key_.options()).view({heads, 1, 1, 1});
    return dropout.apply_at(scores_, call.row.view({batch, 1, 1, 1, 1}), head, of_queries(call.position, call),
                            of_keys(call.position));
  }

 private:
  // [b, H, n, W] -> [b, H, T, J, W]
  at::Tensor panel_of(const at::Tensor& x) const {
    return x.index_select(2, key_).view({x.size(0), x.size(1), tiles_, keys_, x.size(3)});
  }
  // [b, n] -> [b, 1, T, 1, J], and -> [b, 1, T, I, 1]
  at::Tensor of_keys(const at::Tensor& x) const {
    return x.index_select(1, key_).view({x.size(0), 1, tiles_, 1, keys_});
  }
  at::Tensor of_queries(const at::Tensor& x, const Call& call) const {
    return at::constant_pad_nd(x.slice(1, call.first_row), {0, 1})
        .index_select(1, query_)
        .view({x.size(0), 1, tiles_, queries_, 1});
  }
  // [b, H, N + 1] -> [b, H, T, I, 1]
  at::Tensor of_rows(const at::Tensor& x) const {
    return x.index_select(2, query_).view({x.size(0), x.size(1), tiles_, queries_, 1});
  }
  // Sums of [b, H, R, W] at the rows, [b, H, N + 1, W].
  at::Tensor to_rows(const at::Tensor& x, int64_t rows) const {
    return at::zeros({x.size(0), x.size(1), rows, x.size(3)}, x.options()).index_add(2, query_, x);
  }

  void score(const Call& call, const Options& options) {
    const at::Tensor rows = at::constant_pad_nd(call.q, {0, 0, 0, 1}).index_select(2, query_);  // [b, H, R, D]
    if (single_pairs_)
      scores_ = edge_scores(rows, call.k, key_of_slot_).unsqueeze(3);
    else
      scores_ = at::matmul(rows.view({rows.size(0), rows.size(1), tiles_, queries_, rows.size(3)}),
                           panel_of(call.k).transpose(-2, -1));
    if (call.valid.defined()) {
      const at::Tensor both = of_queries(call.valid, call).logical_and(of_keys(call.valid));
      if (options.padding == "remove")
        meet_ = meet_.logical_and(both);
      else
        scores_ = scores_.masked_fill(both.logical_not(), kInvalidScore);
    }
    scores_ = scores_.masked_fill(meet_.logical_not(), -kInfinity);
  }

  int64_t tiles_, queries_, keys_;
  bool single_pairs_;
  at::Tensor query_;        // [R]
  at::Tensor key_;          // [T J], 0 where there is none
  at::Tensor key_of_slot_;  // [J, T], of single pairs
  at::Tensor meet_;         // [T, I, J], or [b, 1, T, I, J]
  at::Tensor scores_;       // [b, H, T, I, J]
};

class PieceAttention final : public Attention {
 public:
  PieceAttention(const Call& call, const Options& options) : call_(call), options_(options) {
    for (const Panel& panel : make_panels(*call.pattern, call.first_row)) pieces_.emplace_back(panel, call, options);
    const int64_t batch = call.q.size(0), heads = call.q.size(1);
    rows_ = call.q.size(2) + 1;  // the last one stands for places without a query
    at::Tensor largest = at::full({batch, heads, rows_}, -kInfinity, call.q.options());
    for (const Piece& piece : pieces_) largest = piece.largest(largest);
    largest = largest.masked_fill(largest == -kInfinity, 0);
    at::Tensor sums = at::zeros({batch, heads, rows_}, call.q.options());
    for (Piece& piece : pieces_) sums = sums + piece.exponentiate(largest);
    lse_ = own_rows((largest + at::log(sums.detach())).unsqueeze(-1)).squeeze(-1);
    sums = sums.masked_fill(sums == 0, 1);
    for (Piece& piece : pieces_) piece.normalise(sums);
    if (options.attention_dropout > 0 && options.dropout_mode == "once") dropped_ = weights(0);
  }

  at::Tensor mix(const at::Tensor& z, int64_t hop) const override {
    const bool fresh = options_.attention_dropout > 0 && options_.dropout_mode == "per_hop";
    const std::vector<at::Tensor> dropped = fresh ? weights(hop) : dropped_;
    at::Tensor sum = at::zeros({z.size(0), z.size(1), rows_, z.size(3)}, z.options());
    for (std::size_t i = 0; i < pieces_.size(); ++i)
      sum = sum + pieces_[i].mix(dropped.empty() ? pieces_[i].weights() : dropped[i], z, rows_);
    return own_rows(sum);
  }
  at::Tensor lse() const override { return lse_; }

 private:
  at::Tensor own_rows(const at::Tensor& x) const { return x.narrow(2, 0, rows_ - 1); }

  /// The weights of the pieces with the mask of a hop.
  std::vector<at::Tensor> weights(int64_t hop) const {
    const auto offset = static_cast<int64_t>(diffusion_attention_seed(0, hop));
    const DropoutMask dropout(options_.attention_dropout, *options_.dropout_seed + offset, call_.q);
    std::vector<at::Tensor> out;
    for (const Piece& piece : pieces_) out.push_back(piece.dropped(dropout, call_));
    return out;
  }

  Call call_;
  const Options& options_;
  int64_t rows_ = 0;
  std::vector<Piece> pieces_;
  std::vector<at::Tensor> dropped_;
  at::Tensor lse_;
};

}  // namespace

std::unique_ptr<Attention> composed_attention(const Call& call, const Options& options) {
  return std::make_unique<PieceAttention>(call, options);
}

}  // namespace longspan::ops::diffuse
