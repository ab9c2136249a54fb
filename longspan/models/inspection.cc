#include "longspan/models/inspection.h"

#include "longspan/base/check.h"

namespace longspan::models {

ModelInspection::ModelInspection(LanguageModel& model) : model_(model) {
  for (const auto& module : model.modules(/*include_self=*/false))
    if (auto* attention = dynamic_cast<nn::Attention*>(module.get()))
      layers_.push_back({attention, attention->begin_inspection()});
  for (Layer& layer : layers_)  // which do not move any more
    layer.attention->observe([&layer](const at::Tensor& x) { layer.seen = layer.inspection->look(x); });
}

ModelInspection::~ModelInspection() {
  for (const Layer& layer : layers_) layer.attention->observe({});
}

std::vector<std::map<std::string, at::Tensor>> ModelInspection::look(const at::Tensor& tokens) {
  LONGSPAN_CHECK(!model_.is_training(), "inspection: the model must be in evaluation mode");
  const at::NoGradGuard no_grad;
  if (state_.batch() == 0) state_ = model_.begin(tokens.size(0));
  model_.extend(state_, tokens);
  std::vector<std::map<std::string, at::Tensor>> out;
  for (Layer& layer : layers_) out.push_back(std::move(layer.seen));
  return out;
}

}  // namespace longspan::models
