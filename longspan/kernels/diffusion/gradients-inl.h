// The backward pass of one query head.
//
// With mu_k the gradient of the state after hop k before its dropout, and lam_k that of the state before the hop:
//
//     mu_k = hop_drop_k(lam_{k+1});   dA += drop_k(carry_k mu_k Z_k^T) on the pairs;   dV += source_k mu_k
//     lam_k = carry_k drop_k(A)^T mu_k;   dcarry_k = <drop_k(A)^T mu_k, Z_k>;   dsource_k = <mu_k, V>
//     dV += start lam_0;   dstart = <lam_0, V>;   dS = A (dA - rowsum(A dA));   dq = scale dS K;   dk = scale dS^T q
//
// Where the weights are stored, dA grows hop by hop. Where they are not, mu of every hop is kept, and dA is formed
// strip by strip at the end.
//
// Per-target header: include it between the per-target guards of a file that uses <hwy/foreach_target.h>.
#if defined(LONGSPAN_KERNELS_DIFFUSION_GRADIENTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LONGSPAN_KERNELS_DIFFUSION_GRADIENTS_INL_H_
#undef LONGSPAN_KERNELS_DIFFUSION_GRADIENTS_INL_H_
#else
#define LONGSPAN_KERNELS_DIFFUSION_GRADIENTS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "longspan/kernels/diffusion/backward_scratch.h"
#include "longspan/kernels/diffusion/hop-inl.h"
#include "longspan/kernels/diffusion/weights-inl.h"

HWY_BEFORE_NAMESPACE();
namespace longspan::kernels::diffusion::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace panel = simd::HWY_NAMESPACE;

template <class S>
class BackwardHead {
  using T = Computed<S>;

 public:
  /// dcoefficients: [2 hops + 1] of this head. The panels of keys and values, and of the sums of their gradients, are
  /// in `scratch`; `first`: the sums begin with this head.
  BackwardHead(const DiffusionBackward<S>& params, const Plan<S>& plan, const Head<S>& head, bool first,
               BackwardScratch<T>& scratch, std::vector<TileScratch<T>>& tiles, double* dcoefficients)
      : params_(params),
        head_(head),
        layout_(head.layout),
        first_(first),
        scratch_(scratch),
        tiles_(tiles),
        dcoefficients_(dcoefficients),
        stored_(params.edge_weights == EdgeWeights::stored),
        given_states_(params.states != nullptr &&
                      (params.backward == DiffusionBackwardStates::store_all || params.first_row > 0)),
        all_states_(!stored_ || (!given_states_ && params.backward == DiffusionBackwardStates::recompute_slices)) {
    const int64_t size = head.planned.strip_weights;
    given_weights_ =
        stored_ && params.weights != nullptr ? params.weights + plan.weights_begin(head.sequence, head.head) : nullptr;
    if (given_weights_ == nullptr) weights_ = scratch.weights.reserve(size);
    if (params.hops > 0) dots_ = scratch.dots.reserve(size);
    if (params.attention_dropout.active() && params.hops > 0) dropped_ = scratch.dropped.reserve(size);
    if (stored_ && layout_.has_rest()) by_key_ = scratch.by_key.reserve(layout_.rest_queries().size());
  }

  void run() {
    const auto states = static_cast<std::size_t>(all_states_ ? params_.hops : 2);
    if (scratch_.states.size() < states) scratch_.states = std::vector<Panel<T>>(states);
    const std::size_t gradients = stored_ ? 2 : static_cast<std::size_t>(params_.hops) + 1;
    if (scratch_.gradients.size() < gradients) scratch_.gradients = std::vector<Panel<T>>(gradients);

    head_.pack(head_.of_head(params_.q, head_.head), params_.width, layout_.first_row(), scratch_.queries);
    if (stored_ && given_weights_ == nullptr)
      for (const Strip& strip : head_.planned.strips) form(strip);
    if (all_states_)
      for (int64_t hop = 0; hop < params_.hops; ++hop) form_state(hop);
    head_.pack(head_.of_head(params_.dout, head_.head), params_.value_width, layout_.first_row(),
               gradient(params_.hops));
    for (int64_t hop = params_.hops - 1; hop >= 0; --hop) pass_back(hop);
    add_to_values(gradient(0), 0);
    if (params_.hops == 0 || head_.planned.strips.empty()) return write_zeros();
    for (const Strip& strip : head_.planned.strips) scores(strip);
  }

 private:
  /// lam of the state before hop `hop`, which becomes mu of the hop before. Of stored weights two stand at a time.
  Panel<T>& gradient(int64_t hop) { return scratch_.gradients[static_cast<std::size_t>(stored_ ? hop % 2 : hop)]; }

  const T* form(Strip strip) {
    T* const weights = weights_ - layout_.offset(strip.first);
    form_weights(head_, strip, scratch_.queries, scratch_.keys, static_cast<const RowsView<T>*>(nullptr), tiles_,
                 weights);
    return weights;
  }
  /// The weights of a strip before dropout.
  const T* plain_weights(Strip strip) {
    if (!stored_) return form(strip);
    return (given_weights_ != nullptr ? given_weights_ : weights_) - layout_.offset(strip.first);
  }
  /// The weights of a strip in a hop.
  Weights<T> weights_of(Strip strip, int64_t hop) {
    const T* weights = plain_weights(strip);
    if (dropped_ == nullptr) return {strip, weights};
    const int64_t mask = params_.dropout_per_hop ? hop : 0;
    T* const dropped = dropped_ - layout_.offset(strip.first);
    if (!stored_ || mask != dropped_mask_) drop<false>(head_, strip, mask, weights, dropped);
    dropped_mask_ = mask;
    return {strip, dropped};
  }
  /// The same with the rest by key.
  Weights<T> weights_by_key(Strip strip, int64_t hop) {
    Weights<T> weights = weights_of(strip, hop);
    if (by_key_ == nullptr) return weights;
    const bool kept = by_key_mask_ == dropped_mask_ && by_key_formed_;
    if (!kept) reorder_rest(head_, weights.data, by_key_);
    by_key_formed_ = true;
    by_key_mask_ = dropped_mask_;
    weights.by_key = by_key_;
    return weights;
  }

  /// The state before hop `hop` of the call's memory, or nullptr.
  const T* given_state(int64_t hop) const { return given_states_ ? params_.states + head_.state_begin(hop) : nullptr; }
  void next_state(int64_t hop, const Panel<T>& z, Panel<T>& next) {
    advance(
        head_, hop - 1, [&](Strip strip) { return weights_of(strip, hop - 1); }, scratch_.values,
        static_cast<const T*>(nullptr), z, next, [](int64_t, int64_t) {});
  }
  /// scratch_.states[hop], for all hops in turn.
  void form_state(int64_t hop) {
    Panel<T>& z = scratch_.states[static_cast<std::size_t>(hop)];
    if (given_states_)
      head_.pack(RowsView<const T>{given_state(hop), 0, 0, params_.value_width}, params_.value_width, 0, z);
    else if (hop == 0)
      first_state(head_, scratch_.values, static_cast<const T*>(nullptr), z);
    else
      next_state(hop, scratch_.states[static_cast<std::size_t>(hop - 1)], z);
  }
  /// The state before hop `hop`.
  const Panel<T>& state(int64_t hop) {
    if (all_states_) return scratch_.states[static_cast<std::size_t>(hop)];
    Panel<T>* z = &scratch_.states[0];
    if (given_states_) {
      head_.pack(RowsView<const T>{given_state(hop), 0, 0, params_.value_width}, params_.value_width, 0, *z);
      return *z;
    }
    Panel<T>* next = &scratch_.states[1];
    first_state(head_, scratch_.values, static_cast<const T*>(nullptr), *z);
    for (int64_t i = 1; i <= hop; ++i) {
      next_state(i, *z, *next);
      std::swap(z, next);
    }
    return *z;
  }

  /// dV += factor g and the gradient of the factor, coefficient number `index`.
  void add_to_values(const Panel<T>& g, int64_t index) {
    const T factor = head_.coefficient(index);
    dcoefficients_[index] = head_.sum_rows(layout_.first_row(), layout_.tokens(), [&](int64_t row) HWY_ATTR {
      const bool fresh = first_ && index == first_value_term();
      if (fresh) head_.zero(scratch_.dvalues, row, row + 1);
      combine_row(scratch_.dvalues, T(1), g, factor, row);
      return dot_rows(g, scratch_.values, row);
    });
  }
  /// Number of the coefficient whose term of dV comes first.
  int64_t first_value_term() const { return 2 * params_.hops; }

  /// From the gradient of the state after hop `hop` to that of the state before it.
  void pass_back(int64_t hop) {
    Panel<T>& mu = gradient(hop + 1);
    Panel<T>& lam = gradient(hop);
    mu.set_finite();
    head_.for_rows(layout_.first_row(), layout_.tokens(), [&](int64_t row, int) HWY_ATTR {
      if (params_.hop_dropout.active()) drop_features(head_, mu, row, layout_.token(row), hop);
      mu.see(is_finite_row(mu, row));
    });
    head_.zero_gaps(mu, layout_.first_row());
    head_.copy_dense_rows(mu);
    add_to_values(mu, 2 * hop + 2);
    const Panel<T>& z = state(hop);
    if (stored_) add_dots(head_.planned.strips.empty() ? Strip{} : head_.planned.strips.front(), hop, mu, z);
    lam.reshape(layout_.rows(), params_.value_width);
    bool fresh = true;
    for (const Strip& strip : head_.planned.strips) {
      mix_transposed(head_, weights_by_key(strip, hop), mu, lam, fresh);
      fresh = false;
    }
    if (fresh) head_.zero(lam, 0, layout_.rows());
    finish_gradient(hop, z, lam);
  }
  /// lam = carry_k lam, plus what comes in from outside; the part of the past goes out.
  void finish_gradient(int64_t hop, const Panel<T>& z, Panel<T>& lam) {
    const int64_t width = params_.value_width, first = layout_.first_row();
    const T carry = head_.carry(hop);
    const T* added = params_.dstates_out != nullptr ? params_.dstates_out + head_.state_begin(hop) : nullptr;
    T* past = params_.dstates != nullptr && first > 0 ? params_.dstates + head_.state_begin(hop) : nullptr;
    dcoefficients_[2 * hop + 1] = head_.sum_rows(0, layout_.tokens(), [&](int64_t row) HWY_ATTR {
      const T dot = dot_rows(lam, z, row);
      if (row < first) {
        if (past != nullptr) panel::store_row(lam.row(0), lam.stride(), row, width, carry, past + row * width);
        return dot;
      }
      combine_row(lam, carry, lam, T(0), row);
      if (added != nullptr)
        for (int64_t c = 0; c < width; ++c)
          lam.row(row)[c / kPanelColumns * lam.stride() + c % kPanelColumns] += added[layout_.token(row) * width + c];
      return dot;
    });
  }

  /// The hop's part of dA: dots (before any: = 0) += carry_k mu_k Z_k^T.
  void add_dots(Strip strip, int64_t hop, const Panel<T>& mu, const Panel<T>& z) {
    const int64_t offset = layout_.offset(strip.first);
    T* const dots = dots_ - offset;
    const bool per_hop = dropped_ != nullptr && params_.dropout_per_hop;
    const bool first = hop == params_.hops - 1;
    if (!per_hop) return dots_of(strip, hop, mu, z, first, dots);
    if (first) std::fill(dots_, dots_ + layout_.offset(strip.last) - offset, T(0));
    dropped_mask_ = -1;  // its memory is used
    dots_of(strip, hop, mu, z, true, dropped_ - offset);
    drop<true>(head_, strip, hop, dropped_ - offset, dots);
  }
  void dots_of(Strip strip, int64_t hop, const Panel<T>& mu, const Panel<T>& z, bool fresh, T* dots) {
    const CsrView& rest = layout_.pattern().rest;
    const T carry = head_.carry(hop);
    const auto rows = head_.queries(strip);
    if (layout_.has_rest())
      head_.for_rows(rows.first, rows.last, [&](int64_t row, int) HWY_ATTR {
        T* to = dots + layout_.rest_weight(row, 0);
        dot_row(rest.keys, rest.begin[row], rest.begin[row + 1], mu, row, z,
                [&](int64_t e, T dot) { to[e] = fresh ? carry * dot : to[e] + carry * dot; });
      });
    head_.for_tiles(strip, [&](int64_t tile, int worker) HWY_ATTR {
      dot_tile(layout_, tile, tiles_[static_cast<std::size_t>(worker)].transpose(layout_, tile, mu), z, carry, fresh,
               dots);
    });
  }

  /// From dA of a strip to dq of its queries and their part of dk.
  void scores(Strip strip) {
    const int64_t offset = layout_.offset(strip.first);
    if (!stored_)
      for (int64_t hop = params_.hops - 1; hop >= 0; --hop)
        add_dots(strip, hop, gradient(hop + 1), scratch_.states[static_cast<std::size_t>(hop)]);
    T* const dscores = dots_ - offset;
    if (dropped_ != nullptr && !params_.dropout_per_hop) drop<false>(head_, strip, 0, dscores, dscores);
    const T* weights = plain_weights(strip);
    head_.for_tiles(strip, [&](int64_t tile, int) HWY_ATTR {
      softmax_gradient_tile(layout_, tile, weights, dscores);
      clear_invalid(head_, tile, dscores);
    });
    const T scale = static_cast<T>(params_.scale);
    const RowsView<S> dq = head_.of_head(params_.dq, head_.head);
    Panel<T>& sums = scratch_.dqueries;
    sums.reshape(layout_.rows(), params_.width);
    Weights<T> gradient{strip, dscores};
    mix(head_, gradient, scratch_.keys, sums, [&](int64_t tile, int) HWY_ATTR {
      for (int64_t lane = 0; lane < kLanes; ++lane) {
        if (!layout_.alive(tile, lane)) continue;
        const int64_t row = layout_.row(tile) + lane;
        panel::store_row(sums.row(0), sums.stride(), row, params_.width, scale,
                         dq.data + (layout_.token(row) - layout_.first_row()) * dq.row_stride);
      }
    });
    if (by_key_ != nullptr) reorder_rest(head_, dscores, by_key_);
    gradient.by_key = by_key_;
    mix_transposed(head_, gradient, scratch_.queries, scratch_.dkeys, first_ && strip.first == 0);
  }
  /// No pair, or none that counts.
  void write_zeros() {
    const RowsView<S> dq = head_.of_head(params_.dq, head_.head);
    for (int64_t i = 0; i < layout_.tokens() - layout_.first_row(); ++i)
      std::fill_n(dq.data + i * dq.row_stride, params_.width, S(0.0f));
    if (first_) head_.zero(scratch_.dkeys, 0, layout_.tokens());
  }

  const DiffusionBackward<S>& params_;
  const Head<S>& head_;
  const TileLayout& layout_;
  bool first_;
  BackwardScratch<T>& scratch_;
  std::vector<TileScratch<T>>& tiles_;
  double* dcoefficients_;
  bool stored_, given_states_, all_states_;
  const T* given_weights_ = nullptr;
  T* weights_ = nullptr;
  T* dots_ = nullptr;
  T* dropped_ = nullptr;
  T* by_key_ = nullptr;
  int64_t dropped_mask_ = -1, by_key_mask_ = -1;  ///< of what stands in them
  bool by_key_formed_ = false;
};

}  // namespace longspan::kernels::diffusion::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
