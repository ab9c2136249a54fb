// Dropout off for a while.
#pragma once

#include "longspan/nn/pch.h"

namespace longspan::train {

/// Evaluation mode for as long as it lives.
class EvaluationMode {
 public:
  explicit EvaluationMode(torch::nn::Module& module) : module_(module), before_(module.is_training()) {
    module_.eval();
  }
  ~EvaluationMode() { module_.train(before_); }
  EvaluationMode(const EvaluationMode&) = delete;
  EvaluationMode& operator=(const EvaluationMode&) = delete;

 private:
  torch::nn::Module& module_;
  bool before_;
};

}  // namespace longspan::train
