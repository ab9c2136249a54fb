#include "longspan/ops/local_attention/composed_band.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/zeros.h>

#include <limits>
#include <vector>

#include "longspan/ops/common/dropout.h"
#include "longspan/ops/common/packing.h"
#include "longspan/ops/local_attention/band_products.h"
#include "longspan/ops/local_attention/check.h"

namespace longspan::ops::local {
namespace {

// Shorter blocks would be poor batched products.
constexpr int64_t kShortestBlock = 32;
// Reaches up to this are not cut to the number of keys, so that a graph over symbolic lengths has constant blocks.
constexpr int64_t kShortReach = 256;

c10::SymInt reach_in_fours(int64_t reach, const c10::SymInt& keys) {
  const c10::SymInt within = reach <= kShortReach ? c10::SymInt(reach) : c10::SymInt(reach).min(keys);
  return (within + 3) / 4 * 4;  // dropout decides by fours
}

// The keys of a block of queries: those of its own block, `left` before and `right` behind it.
struct Span {
  c10::SymInt block, left, right;

  Span(const Options& options, const c10::SymInt& keys)
      : left(reach_in_fours(options.reach_left, keys)), right(reach_in_fours(options.reach_right, keys)) {
    block = left.max(right).max(kShortestBlock);
  }
  c10::SymInt size() const { return left + block + right; }
  /// The keys of the span that the window of a query holds.
  Band band(const Options& options) const {
    return {left - left.min(options.reach_left), left + right.min(options.reach_right) + 1};
  }
};

// The axis of keys in blocks. Queries are laid out on it too, each at the key that it is aligned with; a place without
// a query holds zeros and is not read back.
class KeyAxis {
 public:
  /// `first`: the position of the first of `keys` in an unpacked batch, a multiple of 4.
  KeyAxis(const Inputs& x, const Options& options, const c10::SymInt& first, const Span& span)
      : first_(first),
        shift_(x.k.sym_size(2) - x.q.sym_size(2)),
        span_(span),
        keys_(options.cu_seqlens_k ? options.cu_seqlens_k : options.cu_seqlens, x.k.sym_size(0), x.k.sym_size(2), x.k),
        layout_(keys_, span.block) {
    if (!options.cu_seqlens_k) return;
    const RowSequences queries(options.cu_seqlens, 1, x.q.sym_size(2), x.q);
    const at::Tensor before = (keys_.lengths() - queries.lengths()).index_select(0, queries.sequence());
    query_place_ = layout_.places(queries.sequence(), queries.rank().view(-1) + before);
  }

  const c10::SymInt& blocks() const { return layout_.blocks(); }

  /// [B, H, N, D] -> [B, H, blocks, block, D]
  at::Tensor spread_queries(const at::Tensor& q) const {
    if (query_place_.defined()) {
      const c10::SymInt places = blocks() * span_.block;
      return at::zeros_symint({1, q.sym_size(1), places, q.sym_size(3)}, q.options())
          .index_copy(2, query_place_, q)
          .view_symint({1, q.sym_size(1), blocks(), span_.block, q.sym_size(3)});
    }
    return layout_.spread(at::constant_pad_nd_symint(q, std::vector<c10::SymInt>{0, 0, shift_, 0}));
  }
  /// The inverse of spread_queries().
  at::Tensor collect_queries(const at::Tensor& x) const {
    if (query_place_.defined()) return x.flatten(2, 3).index_select(2, query_place_);
    return layout_.collect(x).narrow_symint(2, shift_, keys_.rows() - shift_).clone(at::MemoryFormat::Contiguous);
  }

  /// [B, Hk, M, W] -> [B, Hk, blocks, span, W], each block with its neighbours' nearest rows; zeros where these belong
  /// to another sequence.
  at::Tensor spread_keys(const at::Tensor& x) const { return with_neighbours(layout_.spread(x)); }

  /// Whether a place of a block's span holds a key of the block's sequence, [blocks, 1, span].
  at::Tensor has_key() const {
    const at::Tensor rank = layout_.origin().unsqueeze(1) + (arange(span_.size()) - at::Scalar(span_.left));
    return (rank >= 0).logical_and(rank < layout_.sequence_rows().unsqueeze(1)).unsqueeze(1);
  }

  /// Whether a place of a block holds a query, [blocks, block, 1].
  at::Tensor has_query() const {
    const c10::SymInt rows = query_place_.defined() ? query_place_.sym_size(0) : keys_.rows() - shift_;
    return spread_queries(at::ones_symint({1, 1, rows, 1}, keys_.index().options().dtype(at::kBool)))
        .select(0, 0)
        .select(0, 0);
  }

  /// j - p of each query and key of a span, [block, span].
  at::Tensor offsets() const {
    const at::Tensor query = arange(span_.block) + at::Scalar(span_.left);
    return arange(span_.size()).unsqueeze(0) - query.unsqueeze(1);
  }

  /// Applies dropout to probabilities [B, Hk, blocks, G, block, span]. `origin`: the argument dropout_origin.
  at::Tensor drop(const at::Tensor& p, const DropoutMask& dropout, const OptionalTensor& origin) const {
    if (!dropout.active()) return p;
    const c10::SymInt kv_heads = p.sym_size(1), group = p.sym_size(3);
    const at::Tensor head = arange(kv_heads * group).view_symint({kv_heads, 1, group, 1, 1});
    at::Tensor row = keys_.packed() ? layout_.sequence().view_symint({blocks(), 1, 1, 1})
                                    : arange(p.sym_size(0)).view_symint({p.sym_size(0), 1, 1, 1, 1, 1});
    at::Tensor first = (layout_.origin() + at::Scalar(first_)).view_symint({blocks(), 1, 1, 1});  // of each block
    at::Tensor shift;
    if (origin) {
      at::Tensor of_sequence = origin->to(row.device(), /*non_blocking=*/true);
      // Blocks that no sequence uses have the number S.
      if (keys_.packed()) of_sequence = at::constant_pad_nd(of_sequence, {0, 0, 0, 1});
      const at::Tensor given = of_sequence.index_select(0, row.reshape(-1));
      const auto column = [&](int64_t c) { return given.select(1, c).view_symint(row.sym_sizes()); };
      row = column(0);
      first = first + column(1);
      shift = column(1).remainder(4);
    }
    const at::Tensor i = first + arange(span_.block).unsqueeze(1);
    const c10::SymInt fours = span_.size() / 4 + (origin ? 1 : 0);
    return dropout.apply(p, row, head, i, (first - at::Scalar(span_.left)).floor_divide(4) + arange(fours), shift);
  }

 private:
  at::Tensor arange(const c10::SymInt& end) const { return at::arange(end, keys_.index().options()); }

  at::Tensor with_neighbours(const at::Tensor& x) const {
    const at::Tensor padded = at::constant_pad_nd(x, {0, 0, 0, 0, 1, 1});
    // Rows of the block before (0) or after (2) each.
    const auto neighbours = [&](int64_t side, const c10::SymInt& begin, const c10::SymInt& size) {
      const at::Tensor rows = padded.narrow_symint(2, side, blocks()).narrow_symint(3, begin, size);
      if (!keys_.packed()) return rows;
      const at::Tensor strange = side == 0 ? layout_.begins() : layout_.begins().roll(-1);
      return rows.masked_fill(strange.view_symint({blocks(), 1, 1}), 0);
    };
    std::vector<at::Tensor> parts;
    if (span_.left > 0) parts.push_back(neighbours(0, span_.block - span_.left, span_.left));
    parts.push_back(x);
    if (span_.right > 0) parts.push_back(neighbours(2, 0, span_.right));
    return at::cat(parts, 3);
  }

  c10::SymInt first_, shift_;
  Span span_;
  RowSequences keys_;
  BlockLayout layout_;
  at::Tensor query_place_;  // [N], where queries have borders of their own
};

// The table's entries for every offset, [Hk or 1, 1, G or 1, block, span].
at::Tensor biases(const at::Tensor& table, const at::Tensor& offsets, const Options& options,
                  const c10::SymInt& kv_heads) {
  const c10::SymInt centre = (table.sym_size(1) - 1) / 2, heads = table.sym_size(0);
  const at::Tensor entry = offsets.clamp(-options.reach_left, options.reach_right) + at::Scalar(centre);
  const c10::SymInt shared_kv = heads == 1 ? c10::SymInt(1) : kv_heads;
  return table.index_select(1, entry.view(-1))
      .view_symint({shared_kv, 1, heads / shared_kv, offsets.sym_size(0), offsets.sym_size(1)});
}

Outputs attend(const Inputs& x, const Options& options, const c10::SymInt& first) {
  const c10::SymInt heads = x.q.sym_size(1), kv_heads = x.k.sym_size(1);
  const c10::SymInt group = kv_heads > 0 ? heads / kv_heads : c10::SymInt(1);
  const Span span(options, x.k.sym_size(2));
  const KeyAxis axis(x, options, first, span);
  const auto by_group = [&](const at::Tensor& t) {  // [B, H, blocks, block, W] -> [B, Hk, blocks, G, block, W]
    return t.unflatten_symint(1, {kv_heads, group}).transpose(2, 3);
  };
  const auto by_head = [&](const at::Tensor& t) {  // [B, Hk, blocks, G, block, W] -> [B, H, blocks, block, W]
    return t.transpose(2, 3).flatten(1, 2);
  };
  const double scale = options.scale.value_or(default_scale(x.q.sym_size(3).guard_int(__FILE__, __LINE__)));

  const at::Tensor offsets = axis.offsets();
  const at::Tensor in_reach = (offsets >= -options.reach_left).logical_and(offsets <= options.reach_right);
  const at::Tensor meet = in_reach.logical_and(axis.has_key()).logical_and(axis.has_query());
  const at::Tensor outside = meet.logical_not().unsqueeze(1);
  const Band band = span.band(options);
  const at::Tensor q = by_group(axis.spread_queries(x.q)) * scale;
  const OptionalTensor bias = x.table ? OptionalTensor(biases(*x.table, offsets, options, kv_heads)) : std::nullopt;
  const Scores scores = band_scores(q, axis.spread_keys(x.k), bias, outside, band);
  const at::Tensor empty = scores.lse == -std::numeric_limits<double>::infinity();
  const DropoutMask dropout(options.dropout, options.dropout_seed, x.q);
  const at::Tensor weights = at::softmax(scores.values, -1).masked_fill(outside.logical_or(empty), 0);
  const at::Tensor out =
      band_mix(axis.drop(weights, dropout, options.dropout_origin), axis.spread_keys(x.v), band).masked_fill(empty, 0);
  return {axis.collect_queries(by_head(out)), axis.collect_queries(by_head(scores.lse)).squeeze(-1)};
}

// Of the borders, where they are at hand.
void check_values(const Inputs& x, const Options& options) {
  if (!readable_on_host(options.cu_seqlens)) return;
  const Borders queries = load_borders(kOp, "cu_seqlens", options.cu_seqlens, 1, x.q.size(2));
  if (!readable_on_host(options.cu_seqlens_k)) return;
  check_row_counts(queries, load_borders(kOp, "cu_seqlens_k", options.cu_seqlens_k, 1, x.k.size(2)));
}

}  // namespace

Outputs composed(const Inputs& x, const Options& options) {
  check<c10::SymInt>(x, options);
  check_values(x, options);
  const auto dtype = sum_dtype(x.q);
  const c10::SymInt keys = x.k.sym_size(2), queries = x.q.sym_size(2);
  c10::SymInt first = 0;
  if (!options.cu_seqlens && keys != queries)  // keys that the last queries do not reach
    first = (keys - queries - options.reach_left).max(0) / 4 * 4;
  const auto used = [&](const at::Tensor& t) { return t.narrow_symint(2, first, keys - first).to(dtype); };
  const Inputs wide{x.q.to(dtype), used(x.k), used(x.v), x.table ? OptionalTensor(x.table->to(dtype)) : std::nullopt};
  const auto [out, lse] = attend(wide, options, first);
  return {with_layout(out.to(out_dtype(x.q, options)), x.q), lse};
}

}  // namespace longspan::ops::local
