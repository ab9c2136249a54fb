// Looking into a model while it reads.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "longspan/models/language_model.h"
#include "longspan/nn/inspection.h"

namespace longspan::models {

/// What every layer's attention does with streams of tokens, piece by piece: slow, to look at. The model must be in
/// evaluation mode and outlive it; one inspection of a model at a time. Memory does not grow with the streams where the
/// model's state does not.
class ModelInspection {
 public:
  /// Throws InputError when the attention has nothing to show.
  explicit ModelInspection(LanguageModel& model);
  ModelInspection(const ModelInspection&) = delete;
  ModelInspection& operator=(const ModelInspection&) = delete;
  ~ModelInspection();

  /// Every piece but the last has a multiple of this many tokens.
  int64_t step() const { return layers_.front().inspection->step(); }
  /// The next tokens [B, N]; for each layer what nn::Inspection::look() tells.
  std::vector<std::map<std::string, at::Tensor>> look(const at::Tensor& tokens);

 private:
  struct Layer {
    nn::Attention* attention;
    std::unique_ptr<nn::Inspection> inspection;
    std::map<std::string, at::Tensor> seen = {};
  };

  LanguageModel& model_;
  std::vector<Layer> layers_;
  ModelState state_;
};

}  // namespace longspan::models
