#include <algorithm>
#include <vector>

#include "longspan/kernels/diffusion/backward_scratch.h"
#include "longspan/kernels/diffusion/call.h"
#include "longspan/kernels/diffusion/diffusion.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "longspan/kernels/diffusion/backward.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "longspan/kernels/diffusion/gradients-inl.h"

HWY_BEFORE_NAMESPACE();
namespace longspan::kernels::diffusion::HWY_NAMESPACE {
namespace panel = simd::HWY_NAMESPACE;

/// dcoefficients: [sequences][heads][2 hops + 1], each the head's own.
template <class S>
void backward(const DiffusionBackward<S>& params, const Parallel& parallel, double* dcoefficients) {
  using T = Computed<S>;
  const Plan<S> plan(params, true);
  std::vector<BackwardScratch<T>> scratches(static_cast<std::size_t>(plan.scratches(parallel)));
  std::vector<TileScratch<T>> tiles(static_cast<std::size_t>(parallel.workers()));
  plan.run(parallel, [&](int64_t s, int64_t group, const Loop& loop, int number) {
    BackwardScratch<T>& scratch = scratches[static_cast<std::size_t>(number)];
    Head<S> head(params, plan, loop, s, group);
    const TileLayout& layout = head.layout;
    head.find_tokens(scratch.there);
    head.pack(head.of_head(params.k, group), params.width, 0, scratch.keys);
    head.pack(head.of_head(params.v, group), params.value_width, params.first_row, scratch.values);
    scratch.dkeys.reshape(layout.rows(), params.width);
    scratch.dvalues.reshape(layout.rows(), params.value_width);
    for (int64_t i = 0; i < plan.group(); ++i, ++head.head)
      BackwardHead<S>(params, plan, head, i == 0, scratch, tiles,
                      dcoefficients + (s * params.heads + head.head) * (2 * params.hops + 1))
          .run();
    const RowsView<S> dk = head.of_head(params.dk, group), dv = head.of_head(params.dv, group);
    head.for_rows(0, layout.tokens(), [&](int64_t row, int) HWY_ATTR {
      panel::store_row(scratch.dkeys.row(0), scratch.dkeys.stride(), row, params.width, static_cast<T>(params.scale),
                       dk.data + layout.token(row) * dk.row_stride);
      if (row < layout.first_row()) return;
      panel::store_row(scratch.dvalues.row(0), scratch.dvalues.stride(), row, params.value_width, T(1),
                       dv.data + (layout.token(row) - layout.first_row()) * dv.row_stride);
    });
  });
}

void backward_float(const DiffusionBackward<float>& params, const Parallel& parallel, double* dcoefficients) {
  backward(params, parallel, dcoefficients);
}
void backward_double(const DiffusionBackward<double>& params, const Parallel& parallel, double* dcoefficients) {
  backward(params, parallel, dcoefficients);
}
void backward_bfloat16(const DiffusionBackward<BFloat16>& params, const Parallel& parallel, double* dcoefficients) {
  backward(params, parallel, dcoefficients);
}

}  // namespace longspan::kernels::diffusion::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "longspan/simd/target.h"

namespace longspan::kernels {
namespace diffusion {
namespace {

HWY_EXPORT(backward_float);
HWY_EXPORT(backward_double);
HWY_EXPORT(backward_bfloat16);

auto function_for(const DiffusionBackward<float>&) { return HWY_DYNAMIC_DISPATCH(backward_float); }
auto function_for(const DiffusionBackward<double>&) { return HWY_DYNAMIC_DISPATCH(backward_double); }
auto function_for(const DiffusionBackward<BFloat16>&) { return HWY_DYNAMIC_DISPATCH(backward_bfloat16); }

/// Sums the heads' own over sequences (and heads where these share them), in ascending order.
template <class S>
void write_dcoefficients(const DiffusionBackward<S>& params, const std::vector<double>& parts) {
  if (params.dcoefficients == nullptr) return;
  const int64_t count = 2 * params.hops + 1;
  const bool shared = params.coefficient_head_stride == 0;
  std::vector<double> sums(static_cast<std::size_t>(count * (shared ? 1 : params.heads)), 0.0);
  for (int64_t s = 0; s < params.sequences; ++s)
    for (int64_t h = 0; h < params.heads; ++h)
      for (int64_t i = 0; i < count; ++i)
        sums[static_cast<std::size_t>((shared ? 0 : h * count) + i)] +=
            parts[static_cast<std::size_t>((s * params.heads + h) * count + i)];
  std::transform(sums.begin(), sums.end(), params.dcoefficients,
                 [](double sum) { return static_cast<Computed<S>>(sum); });
}

template <class S>
void run_backward(const DiffusionBackward<S>& params, const Parallel& parallel) {
  simd::ensure_target();
  check_diffusion(params);
  check_weights(params.weights);
  int64_t states = 0;  // empty ones may have no address
  for (int64_t s = 0; s < params.sequences; ++s) states += params.heads * params.hops * params.rows.size(s);
  LONGSPAN_CHECK(params.states != nullptr || states == 0 ||
                     (params.backward != DiffusionBackwardStates::store_all && params.first_row == 0),
                 "diffusion: states must be given for store_all and with a past");
  std::vector<double> parts(static_cast<std::size_t>(params.sequences * params.heads * (2 * params.hops + 1)), 0.0);
  function_for(params)(params, parallel, parts.data());
  write_dcoefficients(params, parts);
}

}  // namespace
}  // namespace diffusion

void diffusion_backward(const DiffusionBackward<float>& params, const Parallel& parallel) {
  diffusion::run_backward(params, parallel);
}
void diffusion_backward(const DiffusionBackward<double>& params, const Parallel& parallel) {
  diffusion::run_backward(params, parallel);
}
void diffusion_backward(const DiffusionBackward<BFloat16>& params, const Parallel& parallel) {
  diffusion::run_backward(params, parallel);
}

}  // namespace longspan::kernels
#endif  // HWY_ONCE
