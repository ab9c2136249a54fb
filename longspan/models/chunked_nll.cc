#include "longspan/models/chunked_nll.h"

#include <ATen/ops/addmm.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <optional>

#include "longspan/base/check.h"

namespace longspan::models {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

int64_t rows_per_chunk(int64_t chunk, int64_t vocabulary) {
  return chunk > 0 ? chunk : std::clamp<int64_t>((int64_t{1} << 22) / vocabulary, 64, 4096);
}

at::Tensor scores(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& bias) {
  return bias.defined() ? at::addmm(bias, hidden, weight.t()) : at::mm(hidden, weight.t());
}

struct ChunkedNll : torch::autograd::Function<ChunkedNll> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& hidden, const at::Tensor& weight,
                            const at::Tensor& targets, int64_t chunk, const std::optional<at::Tensor>& given_bias) {
    const at::Tensor bias = given_bias.value_or(at::Tensor());
    // The products stay in the weights' own precision: the loss is a small difference of large numbers.
    c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::DispatchKey::AutocastCPU);
    const int64_t rows = hidden.size(0);
    at::Tensor lse = at::empty({rows}, hidden.options());
    at::Tensor nll = at::empty({rows}, hidden.options());
    at::Tensor kept;
    for (int64_t begin = 0; begin < rows; begin += chunk) {
      const int64_t size = std::min(chunk, rows - begin);
      at::Tensor logits = scores(hidden.narrow(0, begin, size), weight, bias);
      at::Tensor chunk_lse = lse.narrow(0, begin, size);
      at::logsumexp_out(chunk_lse, logits, {1});
      const at::Tensor picked = logits.gather(1, targets.narrow(0, begin, size).unsqueeze(1)).squeeze(1);
      nll.narrow(0, begin, size).copy_(chunk_lse - picked);
      if (size == rows) kept = logits;
    }
    context->save_for_backward({hidden, weight, targets, lse, kept, bias});
    context->saved_data["chunk"] = chunk;
    return nll;
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::DispatchKey::AutocastCPU);
    const auto saved = context->get_saved_variables();
    const at::Tensor &hidden = saved[0], &weight = saved[1], &targets = saved[2], &lse = saved[3], &kept = saved[4],
                     &bias = saved[5];
    const int64_t chunk = context->saved_data["chunk"].toInt();
    if (!grads[0].defined()) return variable_list(5);

    at::Tensor dhidden = at::empty_like(hidden);
    at::Tensor dweight = at::zeros_like(weight);
    at::Tensor dbias = bias.defined() ? at::zeros_like(bias) : at::Tensor();
    for (int64_t begin = 0; begin < hidden.size(0); begin += chunk) {
      const int64_t size = std::min(chunk, hidden.size(0) - begin);
      const at::Tensor h = hidden.narrow(0, begin, size);
      const at::Tensor g = grads[0].narrow(0, begin, size).unsqueeze(1);
      at::Tensor logits = kept.defined() ? kept : scores(h, weight, bias);
      at::Tensor p = (logits - lse.narrow(0, begin, size).unsqueeze(1)).exp_().mul_(g);
      p.scatter_add_(1, targets.narrow(0, begin, size).unsqueeze(1), g.neg());
      at::Tensor dh = dhidden.narrow(0, begin, size);
      at::mm_out(dh, p, weight);
      dweight.addmm_(p.t(), h);
      if (dbias.defined()) dbias.add_(p.sum(0));
    }
    return {dhidden, dweight, at::Tensor(), at::Tensor(), dbias};
  }
};

}  // namespace

at::Tensor chunked_nll(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& targets, int64_t chunk,
                       const at::Tensor& bias) {
  LONGSPAN_CHECK(hidden.dim() == 2 && targets.dim() == 1 && hidden.size(0) == targets.size(0),
                 "nll: hidden must be [T, E] and targets [T], got ", hidden.sizes(), " and ", targets.sizes());
  if (hidden.size(0) == 0) return hidden.sum(1);
  return ChunkedNll::apply(hidden, weight, targets, rows_per_chunk(chunk, weight.size(0)),
                           bias.defined() ? std::optional(bias) : std::nullopt);
}

}  // namespace longspan::models
