#include "lavo_look.h"

#include <algorithm>
#include <map>
#include <span>

#include "longspan/base/check.h"
#include "longspan/models/inspection.h"
#include "longspan/text/utf8.h"

namespace longspan::tool {

namespace {

/// Tokens that the model reads at once, about.
constexpr int64_t kPiece = 1024;

std::vector<double> values_of(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.to(at::kDouble).contiguous();
  return {flat.const_data_ptr<double>(), flat.const_data_ptr<double>() + flat.numel()};
}

using Seen = std::map<std::string, at::Tensor>;

/// Of one stream.
LayerView view_of(const Seen& seen, double gain) {
  LayerView view;
  const at::Tensor reading = seen.at("reading")[0], &basis = seen.at("basis");  // [H, N, R], [H, R, D]
  view.heads = reading.size(0);
  view.positions = reading.size(1);
  view.slots = reading.size(2);
  view.head_width = basis.size(2);
  view.gain = gain;
  view.reading = values_of(reading);
  view.contents = values_of(seen.at("slots")[0]);
  view.basis = values_of(basis);
  if (const auto local = seen.find("local_weights"); local != seen.end()) {
    view.window = local->second.size(3);
    view.local = values_of(local->second[0]);
  }
  return view;
}

/// What the pieces of a stream showed, as one.
Seen joined(const std::map<std::string, std::vector<at::Tensor>>& pieces) {
  Seen out;
  for (const auto& [name, parts] : pieces) out[name] = parts[0].dim() == 4 ? at::cat(parts, 2) : parts[0];
  return out;
}

}  // namespace

std::vector<LayerView> look_at(models::LanguageModel& model, int64_t from, int64_t positions, const ReadTokens& read,
                               const std::function<void(int64_t)>& on_piece) {
  const models::ModelConfig& config = model.config();
  LONGSPAN_CHECK(config.attention == "lavo", "inspect: the model has the attention ", config.attention,
                 ", expected lavo");
  models::ModelInspection inspection(model);
  const int64_t end = from + positions;
  const int64_t rows = (kPiece + inspection.step() - 1) / inspection.step() * inspection.step();
  std::vector<std::map<std::string, std::vector<at::Tensor>>> kept(static_cast<std::size_t>(config.layers));
  for (int64_t begin = 0; begin < end; begin += rows) {
    const int64_t count = std::min(rows, end - begin);
    std::vector<int64_t> tokens(static_cast<std::size_t>(count));
    read(tokens.data(), begin, count);
    const auto layers = inspection.look(at::tensor(tokens, at::kLong).unsqueeze(0));
    const int64_t skipped = std::clamp<int64_t>(from - begin, 0, count);
    for (std::size_t i = 0; skipped < count && i < layers.size(); ++i) {
      LONGSPAN_CHECK(layers[i].contains("reading"), "inspect: the model has no memory to look at");
      for (const auto& [name, tensor] : layers[i])
        kept[i][name].push_back(tensor.dim() == 4 ? tensor.narrow(2, skipped, count - skipped).clone() : tensor);
    }
    if (on_piece) on_piece(begin + count);
  }
  std::vector<LayerView> out;
  const double gain = std::get<double>(config.attention_options.at("basis_gain"));
  for (const auto& pieces : kept) out.push_back(view_of(joined(pieces), gain));
  return out;
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
