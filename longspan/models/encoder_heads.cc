#include "longspan/models/encoder_heads.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/zeros.h>
#include <torch/nn/init.h>

#include "longspan/models/chunked_nll.h"
#include "longspan/models/token_inputs.h"
#include "longspan/nn/packing.h"

namespace longspan::models {

namespace {

torch::nn::Linear linear(int64_t in, int64_t out, double deviation) {
  torch::nn::Linear layer(in, out);
  torch::nn::init::normal_(layer->weight, 0, deviation);
  torch::nn::init::zeros_(layer->bias);
  return layer;
}

}  // namespace

MaskedLanguageHead::MaskedLanguageHead(const EncoderConfig& config) {
  dense_ = register_module("dense", linear(config.width, config.width, config.deviation));
  norm_ = register_module("norm", std::make_shared<Norm>(Shape::gpt2, config.width));
  bias_ = register_parameter("bias", torch::zeros({config.vocabulary}));
}

at::Tensor MaskedLanguageHead::features(const at::Tensor& x) {
  return norm_->forward(at::gelu(dense_->forward(x)).to(bias_.scalar_type()));
}

at::Tensor MaskedLanguageHead::logits(const at::Tensor& x, const at::Tensor& embedding) {
  return at::addmm(bias_, features(x), embedding.t());
}

at::Tensor MaskedLanguageHead::nll(const at::Tensor& x, const at::Tensor& embedding, const at::Tensor& targets,
                                   int64_t chunk) {
  return chunked_nll(features(x), embedding, targets, chunk, bias_);
}

ClassificationHead::ClassificationHead(const EncoderConfig& config, const HeadConfig& head) : dropout_(config.dropout) {
  dense_ = register_module("dense", linear(config.width, config.width, config.deviation));
  out_ = register_module("out", linear(config.width, static_cast<int64_t>(head.labels.size()), config.deviation));
}

at::Tensor ClassificationHead::forward(const at::Tensor& x, const DropoutKey& dropout) {
  const auto dropped = [&](const at::Tensor& rows, uint64_t number) {
    return dropout_ > 0 && is_training() ? with_dropout(rows, dropout_, key_of_part(dropout, number)) : rows;
  };
  return out_->forward(dropped(at::tanh(dense_->forward(dropped(x, 0))), 1));
}

TokenHead::TokenHead(const EncoderConfig& config, int64_t scores) {
  out_ = register_module("out", linear(config.width, scores, config.deviation));
}

at::Tensor pooled(const at::Tensor& x, const at::Tensor& cu, Pooling pooling) {
  const std::vector<int64_t> border = nn::borders(cu);
  if (pooling == Pooling::first) return x[0].index_select(0, cu.narrow(0, 0, cu.size(0) - 1));
  std::vector<at::Tensor> rows;
  for (std::size_t i = 0; i + 1 < border.size(); ++i)
    rows.push_back(x[0].narrow(0, border[i], border[i + 1] - border[i]).mean(0));
  return at::stack(rows);
}

}  // namespace longspan::models
