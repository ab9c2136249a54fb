// The parameters of a model as optimizers and files see them.
#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "longspan/models/tensor_files.h"

namespace longspan::models {

/// Parameters that an optimizer treats alike.
struct ParameterGroup {
  std::string name;  ///< "decay", "no_decay", "epe"
  std::vector<std::pair<std::string, at::Tensor>> parameters;
  bool weight_decay = false;
  double lr_factor = 1;  ///< the group's learning rate is the schedule's times this
};

/// decay: matrices; no_decay: norms, biases, whatever a basis is made of, learned positions; epe: position tables of
/// attentions, with `epe_lr_factor`. Parameters that need no gradient are left out. Order is fixed by the module.
std::vector<ParameterGroup> parameter_groups(const torch::nn::Module& module, double epe_lr_factor);

/// Every parameter and buffer by name, sharing storage: what a file must hold to build the module again.
NamedTensors weights_of(const torch::nn::Module& module);

/// Numbers in all parameters; a shared one counts once.
int64_t parameter_count(const torch::nn::Module& module);

}  // namespace longspan::models
