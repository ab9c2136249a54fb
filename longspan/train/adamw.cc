#include "longspan/train/adamw.h"

#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>

#include "longspan/train/sums.h"

namespace longspan::train {

AdamW::AdamW(const models::LanguageModel& model, const TrainOptions& options)
    : AdamW(model.parameter_groups(options.epe_lr_factor), options) {}

AdamW::AdamW(const std::vector<models::ParameterGroup>& groups, const TrainOptions& options)
    : beta1_(options.beta1), beta2_(options.beta2), epsilon_(options.epsilon), clip_(options.clip) {
  for (const auto& from : groups) {
    if (from.parameters.empty()) continue;
    Group group;
    group.weight_decay = from.weight_decay ? options.weight_decay : 0;
    group.lr_factor = from.lr_factor;
    for (const auto& [name, parameter] : from.parameters) {
      group.names.push_back(name);
      group.parameters.push_back(parameter);
      group.moment1.push_back(at::zeros_like(parameter.detach(), at::MemoryFormat::Contiguous));
      group.moment2.push_back(at::zeros_like(parameter.detach(), at::MemoryFormat::Contiguous));
    }
    groups_.push_back(std::move(group));
  }
}

std::vector<at::Tensor> AdamW::gradients() {
  std::vector<at::Tensor> out;
  for (auto& group : groups_) {
    for (auto& parameter : group.parameters) {
      at::Tensor& gradient = parameter.mutable_grad();
      if (!gradient.defined()) gradient = at::zeros_like(parameter.detach());
      out.push_back(gradient);
    }
  }
  return out;
}

double AdamW::gradient_norm() const {
  double squares = 0;
  for (const auto& group : groups_)
    for (const auto& parameter : group.parameters)
      if (parameter.grad().defined()) squares += ordered_sum_of_squares(parameter.grad());
  return std::sqrt(squares);
}

void AdamW::step(int64_t t, double learning_rate, double norm) {
  at::NoGradGuard no_grad;
  // The fused step divides gradients by grad_scale, so clipping costs no pass of its own.
  std::optional<at::Tensor> scale;
  if (clip_ > 0 && norm > clip_) scale = at::full({}, norm / clip_, at::TensorOptions().dtype(at::kFloat));
  const at::Tensor count = at::full({}, static_cast<double>(t), at::TensorOptions().dtype(at::kFloat));
  for (auto& group : groups_) {
    std::vector<at::Tensor> parameters, gradients, moment1, moment2;
    for (std::size_t i = 0; i < group.parameters.size(); ++i) {
      const at::Tensor gradient = group.parameters[i].grad();
      if (!gradient.defined()) continue;  // not reached by this loss
      parameters.push_back(group.parameters[i]);
      gradients.push_back(gradient.contiguous());
      moment1.push_back(group.moment1[i]);
      moment2.push_back(group.moment2[i]);
    }
    if (parameters.empty()) continue;
    const std::vector<at::Tensor> counts(parameters.size(), count);
    at::_fused_adamw_(parameters, gradients, moment1, moment2, {}, counts, learning_rate * group.lr_factor, beta1_,
                      beta2_, group.weight_decay, epsilon_, /*amsgrad=*/false, /*maximize=*/false, scale);
  }
  clear_gradients();
}

void AdamW::clear_gradients() {
  for (auto& group : groups_)
    for (auto& parameter : group.parameters) parameter.mutable_grad().reset();
}

models::NamedTensors AdamW::state() const {
  models::NamedTensors out;
  for (const auto& group : groups_) {
    for (std::size_t i = 0; i < group.names.size(); ++i) {
      out["moment1." + group.names[i]] = group.moment1[i];
      out["moment2." + group.names[i]] = group.moment2[i];
    }
  }
  return out;
}

}  // namespace longspan::train
