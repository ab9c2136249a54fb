// Dropout off for a while.
#pragma once

#include <torch/nn/module.h>

#include <memory>
#include <utility>
#include <vector>

namespace longspan::train {

/// Evaluation mode for as long as it lives; afterwards every module is in the mode that it was in.
class EvaluationMode {
 public:
  explicit EvaluationMode(torch::nn::Module& module) : root_(module), before_(module.is_training()) {
    for (const auto& inner : module.modules(/*include_self=*/false)) inner_.emplace_back(inner, inner->is_training());
    module.eval();
  }
  ~EvaluationMode() {
    root_.train(before_);
    // train() takes the modules inside along; they come later in the list.
    for (const auto& [module, training] : inner_) module->train(training);
  }
  EvaluationMode(const EvaluationMode&) = delete;
  EvaluationMode& operator=(const EvaluationMode&) = delete;

 private:
  torch::nn::Module& root_;
  bool before_;
  std::vector<std::pair<std::shared_ptr<torch::nn::Module>, bool>> inner_;
};

}  // namespace longspan::train
