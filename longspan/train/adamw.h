// AdamW on the parameter groups of a model, with a state that is plain tensors.
#pragma once

#include <string>
#include <vector>

#include "longspan/models/language_model.h"
#include "longspan/models/tensor_files.h"
#include "longspan/train/options.h"

namespace longspan::train {

/// m <- b1 m + (1 - b1) g; v <- b2 v + (1 - b2) g^2; w <- w (1 - lr wd) - lr (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) +
/// epsilon) with g scaled to the clipping bound first, wd only in groups that decay, lr times the group's factor.
class AdamW {
 public:
  AdamW(const std::vector<models::ParameterGroup>& groups, const TrainOptions& options);
  AdamW(const models::LanguageModel& model, const TrainOptions& options);

  /// The gradients of all parameters, in a fixed order; a parameter that the loss did not reach gets zeros.
  std::vector<at::Tensor> gradients();

  /// Norm of all gradients together (float64, fixed order). A parameter without a gradient counts as zero.
  double gradient_norm() const;

  /// Step number t (1 for the first). `norm` is gradient_norm() of these gradients; clears the gradients.
  void step(int64_t t, double learning_rate, double norm);

  void clear_gradients();

  /// Moments by "moment1.<parameter>" and "moment2.<parameter>", sharing storage with the optimizer.
  models::NamedTensors state() const;

 private:
  struct Group {
    std::vector<std::string> names;
    std::vector<at::Tensor> parameters, moment1, moment2;
    double weight_decay = 0;
    double lr_factor = 1;
  };
  std::vector<Group> groups_;
  double beta1_, beta2_, epsilon_, clip_;
};

}  // namespace longspan::train
