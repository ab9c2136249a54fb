#include "longspan/models/inspection.h"

#include "longspan/base/check.h"

namespace longspan::models {

namespace {

std::vector<nn::Attention*> attentions_of(torch::nn::Module& model) {
  std::vector<nn::Attention*> out;
  for (const auto& module : model.modules(/*include_self=*/false))
    if (auto* attention = dynamic_cast<nn::Attention*>(module.get())) out.push_back(attention);
  return out;
}

/// Ends the observation of attentions, whatever happens.
struct Unobserve {
  const std::vector<nn::Attention*>& attentions;
  ~Unobserve() {
    for (nn::Attention* attention : attentions) attention->observe({});
  }
};

}  // namespace

ModelInspection::ModelInspection(LanguageModel& model) : model_(model) {
  for (nn::Attention* attention : attentions_of(model)) layers_.push_back({attention, attention->begin_inspection()});
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

void inspect_forward(torch::nn::Module& model, const std::function<void()>& pass,
                     const std::function<void(int64_t layer, nn::Attention& attention,
                                              const std::map<std::string, at::Tensor>& seen)>& on_layer) {
  LONGSPAN_CHECK(!model.is_training(), "inspection: the model must be in evaluation mode");
  const at::NoGradGuard no_grad;
  const std::vector<nn::Attention*> attentions = attentions_of(model);
  const Unobserve guard{attentions};
  for (std::size_t i = 0; i < attentions.size(); ++i)
    attentions[i]->observe(
        [&, i](const at::Tensor& x) { on_layer(static_cast<int64_t>(i), *attentions[i], attentions[i]->inspect(x)); });
  pass();
}

}  // namespace longspan::models
