// Looking into a model while it reads.
#pragma once

#include <cstdint>
#include <functional>
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

/// Calls `pass`, which is to run `model` over whole sequences (LanguageModel::hidden(), EncoderModel::hidden()), and
/// `on_layer` for every attention as it is reached: its number, and what Attention::inspect() shows of the rows that
/// come in, one layer's at a time. The model must be in evaluation mode. InputError when an attention has nothing to
/// show. With global tokens that a text brings for itself what is shown is the pattern without them.
void inspect_forward(torch::nn::Module& model, const std::function<void()>& pass,
                     const std::function<void(int64_t layer, nn::Attention& attention,
                                              const std::map<std::string, at::Tensor>& seen)>& on_layer);

}  // namespace longspan::models
