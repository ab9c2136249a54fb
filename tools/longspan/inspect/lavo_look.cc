#include "lavo_look.h"

#include <map>
#include <span>

#include "longspan/base/check.h"
#include "tools/longspan/utf8.h"

namespace longspan::tool {

namespace {

std::vector<double> values_of(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.to(at::kDouble).contiguous();
  return {flat.const_data_ptr<double>(), flat.const_data_ptr<double>() + flat.numel()};
}

/// The last `positions` positions of what nn::Attention::inspect() tells of one stream.
LayerView view_of(const std::map<std::string, at::Tensor>& seen, int64_t positions, double gain) {
  const auto tail = [&](const at::Tensor& tensor) {  // [1, H, N, C] -> [H, positions, C]
    return tensor[0].narrow(1, tensor.size(2) - positions, positions);
  };
  LayerView view;
  const at::Tensor reading = tail(seen.at("reading")), &basis = seen.at("basis");
  view.heads = reading.size(0);
  view.positions = positions;
  view.slots = reading.size(2);
  view.head_width = basis.size(2);
  view.gain = gain;
  view.reading = values_of(reading);
  view.contents = values_of(tail(seen.at("slots")));
  view.basis = values_of(basis);
  if (const auto local = seen.find("local_weights"); local != seen.end()) {
    view.window = local->second.size(3);
    view.local = values_of(tail(local->second));
  }
  return view;
}

}  // namespace

std::vector<LayerView> look_at(models::LanguageModel& model, const std::vector<int64_t>& tokens, int64_t positions) {
  const models::ModelConfig& config = model.config();
  LONGSPAN_CHECK(config.attention == "lavo", "inspect: the model has the attention ", config.attention,
                 ", expected lavo");
  const double gain = std::get<double>(config.attention_options.at("basis_gain"));
  std::vector<LayerView> layers;
  for (const auto& seen : model.inspect(at::tensor(tokens, at::kLong).unsqueeze(0))) {
    LONGSPAN_CHECK(seen.contains("reading"), "inspect: the model has no memory to look at");
    layers.push_back(view_of(seen, positions, gain));
  }
  return layers;
}

std::vector<std::string> labels_of(const Tokenizer& tokenizer, const std::vector<uint32_t>& tokens) {
  std::vector<std::string> labels(tokens.size());
  std::string pending;
  for (std::size_t i = 0, first = 0; i < tokens.size(); ++i) {
    if (pending.empty()) first = i;
    pending += tokenizer.decode(std::span(&tokens[i], 1));
    if (whole_characters(pending) < pending.size() && i + 1 < tokens.size()) continue;
    labels[first] = pending;
    pending.clear();
  }
  return labels;
}

}  // namespace longspan::tool
