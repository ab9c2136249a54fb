#include <vector>

#include "longspan/kernels/diffusion/call.h"
#include "longspan/kernels/diffusion/diffusion.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "longspan/kernels/diffusion/forward.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "longspan/kernels/diffusion/hop-inl.h"
#include "longspan/kernels/diffusion/weights-inl.h"

HWY_BEFORE_NAMESPACE();
namespace longspan::kernels::diffusion::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace panel = simd::HWY_NAMESPACE;

/// What a task has for the heads that it works.
template <class T>
struct ForwardScratch {
  Panel<T> keys, values, queries, state, next;
  Buffer<T> weights, dropped;
  std::vector<char> there;
};

/// One query head, its keys and values in panels.
template <class S>
class ForwardHead {
  using T = Computed<S>;

 public:
  ForwardHead(const DiffusionForward<S>& params, const Plan<S>& plan, const Head<S>& head, ForwardScratch<T>& scratch,
              std::vector<TileScratch<T>>& tiles)
      : params_(params),
        head_(head),
        scratch_(scratch),
        tiles_(tiles),
        lse_(head.of_head(params.lse, head.head)),
        out_(head.of_head(params.out, head.head)),
        stored_(params.edge_weights == EdgeWeights::stored) {
    const int64_t size = head.planned.strip_weights;
    weights_ = stored_ && params.weights != nullptr ? params.weights + plan.weights_begin(head.sequence, head.head)
                                                    : scratch.weights.reserve(size);
    if (params.attention_dropout.active() && params.hops > 0) dropped_ = scratch.dropped.reserve(size);
  }

  void run() {
    const TileLayout& layout = head_.layout;
    head_.pack(head_.of_head(params_.q, head_.head), params_.width, layout.first_row(), scratch_.queries);
    if (stored_ || params_.hops == 0)
      for (const Strip& strip : head_.planned.strips) form(strip);
    Panel<T>* state = &scratch_.state;
    // The queries are done with where the weights stay.
    Panel<T>* next = stored_ ? &scratch_.queries : &scratch_.next;
    first_state(head_, scratch_.values, state_of(0), *state);
    head_.for_rows(layout.first_row(), layout.tokens(),
                   [&](int64_t row, int) HWY_ATTR { keep(0, *state, row, layout.token(row)); });
    for (int64_t hop = 0; hop < params_.hops; ++hop) {
      advance(
          head_, hop, [&](Strip strip) { return weights_of(strip, hop); }, scratch_.values,
          layout.first_row() > 0 ? state_of(hop + 1) : nullptr, *state, *next,
          [&](int64_t row, int64_t token) HWY_ATTR { keep(hop + 1, *next, row, token); });
      std::swap(state, next);
    }
  }

 private:
  /// Weights of a strip before dropout, where they stand.
  const T* form(Strip strip) {
    T* const weights = weights_ - head_.layout.offset(strip.first);
    form_weights(head_, strip, scratch_.queries, scratch_.keys, &lse_, tiles_, weights);
    return weights;
  }
  Weights<T> weights_of(Strip strip, int64_t hop) {
    const int64_t offset = head_.layout.offset(strip.first);
    const T* weights = stored_ ? weights_ - offset : form(strip);
    if (dropped_ == nullptr) return {strip, weights};
    if (!stored_ || hop == 0 || params_.dropout_per_hop)
      drop<false>(head_, strip, params_.dropout_per_hop ? hop : 0, weights, dropped_ - offset);
    return {strip, dropped_ - offset};
  }
  T* state_of(int64_t hop) const {
    return params_.states != nullptr && hop < params_.hops ? params_.states + head_.state_begin(hop) : nullptr;
  }
  /// Writes a row of the state before hop `hop`, or of the result.
  HWY_INLINE void keep(int64_t hop, const Panel<T>& z, int64_t row, int64_t token) const {
    const int64_t width = params_.value_width;
    if (T* to = state_of(hop)) panel::store_row(z.row(0), z.stride(), row, width, T(1), to + token * width);
    if (hop == params_.hops)
      panel::store_row(z.row(0), z.stride(), row, width, T(1),
                       out_.data + (token - head_.layout.first_row()) * out_.row_stride);
  }

  const DiffusionForward<S>& params_;
  const Head<S>& head_;
  ForwardScratch<T>& scratch_;
  std::vector<TileScratch<T>>& tiles_;
  RowsView<T> lse_;
  RowsView<S> out_;
  bool stored_;
  T* weights_ = nullptr;
  T* dropped_ = nullptr;
};

template <class S>
void forward(const DiffusionForward<S>& params, const Parallel& parallel) {
  using T = Computed<S>;
  const Plan<S> plan(params, false);
  std::vector<ForwardScratch<T>> scratches(static_cast<std::size_t>(plan.scratches(parallel)));
  std::vector<TileScratch<T>> tiles(static_cast<std::size_t>(parallel.workers()));
  plan.run(parallel, [&](int64_t s, int64_t group, const Loop& loop, int number) {
    ForwardScratch<T>& scratch = scratches[static_cast<std::size_t>(number)];
    Head<S> head(params, plan, loop, s, group);
    head.find_tokens(scratch.there);
    head.pack(head.of_head(params.k, group), params.width, 0, scratch.keys);
    head.pack(head.of_head(params.v, group), params.value_width, params.first_row, scratch.values);
    for (int64_t i = 0; i < plan.group(); ++i, ++head.head) ForwardHead<S>(params, plan, head, scratch, tiles).run();
  });
}

void forward_float(const DiffusionForward<float>& params, const Parallel& parallel) { forward(params, parallel); }
void forward_double(const DiffusionForward<double>& params, const Parallel& parallel) { forward(params, parallel); }
void forward_bfloat16(const DiffusionForward<BFloat16>& params, const Parallel& parallel) { forward(params, parallel); }

}  // namespace longspan::kernels::diffusion::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "longspan/simd/target.h"

namespace longspan::kernels {
namespace diffusion {
namespace {

HWY_EXPORT(forward_float);
HWY_EXPORT(forward_double);
HWY_EXPORT(forward_bfloat16);

auto function_for(const DiffusionForward<float>&) { return HWY_DYNAMIC_DISPATCH(forward_float); }
auto function_for(const DiffusionForward<double>&) { return HWY_DYNAMIC_DISPATCH(forward_double); }
auto function_for(const DiffusionForward<BFloat16>&) { return HWY_DYNAMIC_DISPATCH(forward_bfloat16); }

template <class S>
void run_forward(const DiffusionForward<S>& params, const Parallel& parallel) {
  simd::ensure_target();
  check_diffusion(params);
  check_weights(params.weights);
  function_for(params)(params, parallel);
}

}  // namespace
}  // namespace diffusion

void diffusion_forward(const DiffusionForward<float>& params, const Parallel& parallel) {
  diffusion::run_forward(params, parallel);
}
void diffusion_forward(const DiffusionForward<double>& params, const Parallel& parallel) {
  diffusion::run_forward(params, parallel);
}
void diffusion_forward(const DiffusionForward<BFloat16>& params, const Parallel& parallel) {
  diffusion::run_forward(params, parallel);
}

}  // namespace longspan::kernels
#endif  // HWY_ONCE
