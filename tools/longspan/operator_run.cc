#include "operator_run.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/randn.h>
#include <torch/csrc/autograd/autograd.h>

#include "longspan/base/check.h"
#include "timing.h"

namespace longspan::tool {

std::string to_string(Pass pass) { return pass == Pass::forward ? "forward" : "forward_backward"; }

Pass pass_from_string(const std::string& text) {
  if (text == "forward") return Pass::forward;
  LONGSPAN_CHECK(text == "forward_backward", "--pass: expected forward or forward_backward, got '", text, "'");
  return Pass::forward_backward;
}

at::ScalarType dtype_from_string(const std::string& text) {
  if (text == "float32") return at::kFloat;
  if (text == "float64") return at::kDouble;
  LONGSPAN_CHECK(text == "bfloat16", "--dtype: expected float32, float64 or bfloat16, got '", text, "'");
  return at::kBFloat16;
}

OperatorRun::OperatorRun(nn::AttentionPtr attention, const OperatorShape& shape, Pass pass, uint64_t seed)
    : attention_(std::move(attention)), shape_(shape), pass_(pass) {
  attention_->to(shape.dtype);
  torch::manual_seed(seed);
  const bool differentiate = pass == Pass::forward_backward;
  const auto options = at::TensorOptions().dtype(shape.dtype);
  LONGSPAN_CHECK(!shape.layer || !nn::is_cross(attention_->pattern()),
                 "--layer: a layer is measured in the self patterns, got ", nn::to_string(attention_->pattern()));
  if (shape.layer) {
    inputs_ = {at::randn({shape.batch, shape.length, shape.heads * shape.head_dim}, options)};
  } else {
    for (int i = 0; i < 3; ++i)
      inputs_.push_back(at::randn({shape.batch, shape.heads, shape.length, shape.head_dim}, options));
  }
  if (!differentiate) return;
  for (at::Tensor& input : inputs_) differentiated_.push_back(input.requires_grad_(true));
  for (const at::Tensor& parameter : attention_->parameters())
    if (parameter.requires_grad()) differentiated_.push_back(parameter);
  gradient_ = at::randn(inputs_[0].sizes(), options);
}

at::Tensor OperatorRun::output() {
  return shape_.layer ? attention_->forward(inputs_[0]) : attention_->attend(inputs_[0], inputs_[1], inputs_[2]);
}

void OperatorRun::operator()() {
  if (pass_ == Pass::forward) {
    at::NoGradGuard no_gradients;
    output();
    return;
  }
  torch::autograd::grad({output()}, differentiated_, {gradient_}, /*retain_graph=*/std::nullopt, /*create_graph=*/false,
                        /*allow_unused=*/true);
}

namespace {

/// Of one row through every projection: their weights are the parameters called "<projection>.weight".
double projection_flops(const nn::Attention& attention) {
  double flops = 0;
  for (const auto& parameter : attention.named_parameters())
    if (parameter.key().ends_with(".weight")) flops += 2 * static_cast<double>(parameter.value().numel());
  return flops;
}

}  // namespace

double operations(const nn::Attention& attention, const OperatorShape& shape, Pass pass) {
  double forward = attention.cost(shape.length, shape.length).flops;
  if (shape.layer) forward += static_cast<double>(shape.length) * projection_flops(attention);
  forward *= static_cast<double>(shape.batch);
  return pass == Pass::forward ? forward : 3 * forward;
}

double matmul_gflops(at::ScalarType dtype) {
  at::NoGradGuard no_gradients;
  constexpr int64_t size = 2048;
  const auto options = at::TensorOptions().dtype(dtype);
  const at::Tensor a = at::randn({size, size}, options), b = at::randn({size, size}, options);
  at::Tensor out = at::empty({size, size}, options);
  const Timing timing = time_alternating({[&] { at::mm_out(out, a, b); }}).front();
  return 2e-9 * size * size * size / timing.seconds;
}

}  // namespace longspan::tool
