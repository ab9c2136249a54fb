// LAVO looked at from inside: the definitions of specification A.5 and A.6 in float64, slot by slot and offset by
// offset. A stream is looked at in pieces: the layer's inputs of a window before a piece and the running sums are all
// that the next one needs.
#include <algorithm>
#include <cmath>
#include <limits>

#include "longspan/nn/lavo.h"
#include "longspan/nn/packing.h"

namespace longspan::nn {
namespace {

/// Queries whose scores with all of their neighbours stand in memory at once.
constexpr int64_t kQueries = 256;

/// Where queries find their neighbours among rows of keys.
struct Band {
  int64_t left, right;  ///< offsets -left ... right
  int64_t lead;         ///< rows before that of the first query
  int64_t start;        ///< position of the first row
  int64_t block = 0;    ///< > 0: neighbours stand in the same block of positions
  int64_t width() const { return left + 1 + right; }
};

/// `rows` [B, H, M, D] as far as `queries` queries see, zeros outside: [B, H, left + queries + right, D].
at::Tensor surroundings(const at::Tensor& rows, int64_t queries, const Band& band) {
  return at::constant_pad_nd(rows, {0, 0, band.left - band.lead, band.lead + queries + band.right - rows.size(2)});
}

/// Of a contiguous matrix [B, H, n, n + width - 1] the view [B, H, n, width] whose row t begins at column t.
at::Tensor diagonals(const at::Tensor& matrix, int64_t width) {
  return matrix.as_strided({matrix.size(0), matrix.size(1), matrix.size(2), width},
                           {matrix.stride(0), matrix.stride(1), matrix.size(3) + 1, 1});
}

/// Calls `part(first, count)` for queries in portions and joins the results [B, H, count, C].
template <class Part>
at::Tensor in_portions(int64_t queries, const Part& part) {
  std::vector<at::Tensor> parts;
  for (int64_t first = 0; parts.empty() || first < queries; first += kQueries)
    parts.push_back(part(first, std::min(kQueries, queries - first)));
  return at::cat(parts, 2);
}

/// [n, width]: whether the neighbours of queries `first` ... exist among `rows` rows, in their block.
at::Tensor readable(int64_t first, int64_t count, int64_t rows, const Band& band) {
  const int64_t position = band.start + band.lead + first;
  const at::Tensor own = at::arange(position, position + count, at::kLong).unsqueeze(1);
  const at::Tensor other = own + at::arange(-band.left, band.right + 1, at::kLong);
  const at::Tensor inside = (other >= band.start).logical_and(other < band.start + rows);
  if (band.block == 0) return inside;
  return inside.logical_and(other.clamp_min(0).floor_divide(band.block) == own.floor_divide(band.block));
}

/// Softmax of q [B, H, N, D] over the neighbours, [B, H, N, width]; `table` [H or 1, width] is added to the scores.
at::Tensor weights(const at::Tensor& q, const at::Tensor& k, const at::Tensor& table, const Band& band) {
  const double scale = 1 / std::sqrt(static_cast<double>(q.size(3)));
  const at::Tensor keys = surroundings(k, q.size(2), band).transpose(2, 3);
  return in_portions(q.size(2), [&](int64_t first, int64_t count) {
    const at::Tensor all = at::matmul(q.narrow(2, first, count), keys.narrow(3, first, count + band.width() - 1));
    at::Tensor scores = diagonals(all.contiguous(), band.width()) * scale;
    if (table.defined()) scores = scores + table.unsqueeze(1);
    const at::Tensor hidden = readable(first, count, k.size(2), band).logical_not();
    return scores.masked_fill(hidden, -std::numeric_limits<double>::infinity()).softmax(-1);
  });
}

/// The neighbours' `rows` [B, H, M, D] weighted, [B, H, N, D].
at::Tensor mixed(const at::Tensor& weights, const at::Tensor& rows, const Band& band) {
  const at::Tensor around = surroundings(rows, weights.size(2), band);
  return in_portions(weights.size(2), [&](int64_t first, int64_t count) {
    const int64_t seen = count + band.width() - 1;
    const at::Tensor matrix = at::zeros({weights.size(0), weights.size(1), count, seen}, weights.options());
    diagonals(matrix, band.width()).copy_(weights.narrow(2, first, count));
    return at::matmul(matrix, around.narrow(2, first, seen));
  });
}

}  // namespace

class LavoAttention::Look final : public Inspection {
 public:
  explicit Look(LavoAttention& attention) : attention_(attention) {}

  int64_t step() const override { return attention_.blockwise() || attention_.by_window() ? options().w : 1; }

  std::map<std::string, at::Tensor> look(const at::Tensor& x) override {
    const at::NoGradGuard no_grad;
    const int64_t rows = (4 * kQueries + step() - 1) / step() * step();
    std::map<std::string, std::vector<at::Tensor>> parts;
    for (int64_t at = 0; parts.empty() || at < x.size(1); at += rows)
      for (auto& [name, tensor] : piece(x.narrow(1, at, std::min(rows, x.size(1) - at)), std::nullopt))
        parts[name].push_back(tensor);
    std::map<std::string, at::Tensor> out;
    for (const auto& [name, list] : parts) out[name] = list[0].dim() == 4 ? at::cat(list, 2) : list[0];
    return out;
  }

  /// The next rows x [B, N, E]; all of them where the pattern is not causal_self.
  std::map<std::string, at::Tensor> piece(const at::Tensor& x, const std::optional<at::Tensor>& source) {
    std::map<std::string, at::Tensor> out;
    const int64_t length = x.size(1), lead = before_.defined() ? before_.size(1) : 0;
    const at::Tensor rows = lead > 0 ? at::cat({before_, x}, 1) : x;
    const at::Tensor start = at::full({x.size(0)}, position_ - lead, at::kLong);
    const Operands in = attention_.project(rows, source ? *source : rows,
                                           RotaryPositions(attention_.sizes(), rows, std::nullopt, start));
    const auto own = [&](const at::Tensor& t) { return t.narrow(2, lead, length); };
    const at::Tensor features = local(in, lead, length, out);
    if (attention_.parts_.memory) memory(own(in.q.to(at::kDouble)), features, out);
    if (attention_.parts_.local) {
      const int64_t kept = std::min(options().w - 1, rows.size(1));
      before_ = rows.narrow(1, rows.size(1) - kept, kept).clone();
    }
    position_ += length;
    return out;
  }

 private:
  const LavoOptions& options() const { return attention_.options_; }
  at::Tensor wide(const at::Tensor& t) const {
    return t.defined() ? spread_heads(t.to(at::kDouble), attention_.sizes().heads) : t;
  }

  /// The weights of local attention; returns the features [B, H, N, D] that the memory is fed with.
  at::Tensor local(const Operands& in, int64_t lead, int64_t length, std::map<std::string, at::Tensor>& out) const {
    const int64_t reach = options().w - 1, right = attention_.causal() ? 0 : reach;
    const at::Tensor features = wide(in.features);
    if (!attention_.parts_.local) return features;
    const at::Tensor q = wide(in.local_q).narrow(2, lead, length), k = wide(in.keys);
    const at::Tensor table =
        attention_.position_table_.defined() ? attention_.position_table_.to(at::kDouble) : at::Tensor();
    const auto seen = [&](const Band& band) {
      return weights(q, k, table.defined() ? table.narrow(1, 0, band.width()) : table, band);
    };
    const Band window{reach, right, lead, position_ - lead};
    out["local_weights"] = seen(window);
    if (attention_.blockwise()) {
      const Band block{reach, attention_.bidirectional() ? reach : 0, lead, position_ - lead, options().w};
      const at::Tensor history = seen(block);
      out["history_weights"] = at::constant_pad_nd(history, {0, reach - block.right});
      return mixed(history, features, block);
    }
    if (attention_.parts_.aggregated) return mixed(out.at("local_weights"), features, window);
    return features.defined() ? features.narrow(2, lead, length) : features;
  }

  void memory(const at::Tensor& q, const at::Tensor& features, std::map<std::string, at::Tensor>& out) {
    const at::Tensor basis = attention_.basis_.rows().to(at::kDouble);
    out["basis"] = basis.expand({attention_.sizes().heads, -1, -1});
    const at::Tensor z = at::matmul(features, basis.transpose(-1, -2));
    const at::Tensor slots =
        attention_.causal() ? running_means(z) : z.sum(2, true) / static_cast<double>(std::max<int64_t>(z.size(2), 1));
    at::Tensor scores = at::matmul(q, basis.transpose(-1, -2)) * slots * attention_.fixed_scale();
    if (attention_.log_scale_.defined()) scores = scores * attention_.log_scale_.to(at::kDouble).exp().view({-1, 1, 1});
    out["slots"] = slots;
    out["reading"] = scores.softmax(-1);
  }

  /// H_t of projected features z [B, H, N, R]: means over j <= t, or over the windows before t's own.
  at::Tensor running_means(const at::Tensor& z) {
    const int64_t length = z.size(2);
    const at::Tensor before = sums_.defined() ? sums_ : at::zeros_like(z.sum(2, true));
    const at::Tensor sums = at::cat({before, before + z.cumsum(2)}, 2);  // row i: of the first position_ + i
    sums_ = sums.narrow(2, length, 1).clone();
    at::Tensor count = at::arange(position_ + 1, position_ + length + 1, at::kLong);
    if (attention_.by_window()) count = (count - 1).floor_divide(options().w) * options().w;
    return sums.index_select(2, count - position_) / count.clamp_min(1).to(at::kDouble).unsqueeze(1);
  }

  LavoAttention& attention_;
  int64_t position_ = 0;  ///< of the next row
  at::Tensor before_;     ///< the layer's inputs of the last w - 1 rows, or of all if they are fewer
  at::Tensor sums_;       ///< of projected features, [B, H, 1, R]
};

std::unique_ptr<Inspection> LavoAttention::begin_inspection() {
  if (!causal()) return Attention::begin_inspection();
  return std::make_unique<Look>(*this);
}

std::map<std::string, at::Tensor> LavoAttention::inspect_dense(const at::Tensor& x,
                                                               const std::optional<at::Tensor>& source) {
  Look look(*this);
  return causal() ? look.look(x) : look.piece(x, source);
}

}  // namespace longspan::nn
