#include "longspan/models/module_parameters.h"

namespace longspan::models {

std::vector<ParameterGroup> parameter_groups(const torch::nn::Module& module, double epe_lr_factor) {
  std::vector<ParameterGroup> groups = {
      {"decay", {}, true, 1}, {"no_decay", {}, false, 1}, {"epe", {}, false, epe_lr_factor}};
  for (const auto& item : module.named_parameters()) {
    const at::Tensor& parameter = item.value();
    if (!parameter.requires_grad()) continue;
    const std::string name = item.key().substr(item.key().rfind('.') + 1);
    const bool epe = name == "position_table";
    const bool decay = parameter.dim() == 2 && !epe && !name.starts_with("basis") && name != "positions";
    groups[epe ? 2 : decay ? 0 : 1].parameters.emplace_back(item.key(), parameter);
  }
  return groups;
}

NamedTensors weights_of(const torch::nn::Module& module) {
  NamedTensors out;
  for (const auto& item : module.named_parameters()) out[item.key()] = item.value();
  for (const auto& item : module.named_buffers()) out[item.key()] = item.value();
  return out;
}

int64_t parameter_count(const torch::nn::Module& module) {
  int64_t count = 0;
  for (const auto& parameter : module.parameters()) count += parameter.numel();
  return count;
}

}  // namespace longspan::models
