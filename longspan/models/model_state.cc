#include "longspan/models/model_state.h"

#include "longspan/models/language_model.h"
#include "longspan/models/tensor_files.h"

namespace longspan::models {

namespace {

constexpr const char* kFormat = "longspan.state.1";

template <class Each>
ModelState each(const ModelState& state, const Each& call) {
  ModelState out;
  for (const auto& layer : state.layers) out.layers.push_back(call(layer));
  return out;
}

}  // namespace

int64_t ModelState::bytes() const {
  int64_t total = positions.defined() ? static_cast<int64_t>(positions.nbytes()) : 0;
  for (const auto& layer : layers) total += layer.bytes();
  return total;
}

ModelState ModelState::clone() const {
  ModelState out = each(*this, [](const nn::State& layer) { return layer.clone(); });
  if (positions.defined()) out.positions = positions.clone();
  return out;
}

ModelState ModelState::detach() const {
  ModelState out = each(*this, [](const nn::State& layer) { return layer.detach(); });
  out.positions = positions;
  return out;
}

ModelState ModelState::select(const at::Tensor& index) const {
  ModelState out = each(*this, [&](const nn::State& layer) { return layer.select(index); });
  if (positions.defined()) out.positions = positions.index_select(0, index);
  return out;
}

void save_state(const std::string& path, const LanguageModel& model, const ModelState& state) {
  LONGSPAN_CHECK(static_cast<int64_t>(state.layers.size()) == model.config().layers, path, ": the state has ",
                 state.layers.size(), " layers, the model ", model.config().layers);
  NamedTensors tensors = {{"positions", state.positions}};
  for (std::size_t i = 0; i < state.layers.size(); ++i)
    for (const auto& [name, tensor] : state.layers[i].tensors()) tensors[str_cat("layers.", i, ".", name)] = tensor;
  write_tensors(path, tensors,
                {{"format", kFormat}, {"model", model.identity()}, {"fingerprint", fingerprint(tensors)}});
}

ModelState load_state(const std::string& path, const LanguageModel& model) {
  const SafetensorsFile file(path);
  const auto metadata = [&](const std::string& key) {
    const auto found = file.metadata().find(key);
    LONGSPAN_CHECK(found != file.metadata().end(), path, ": not a state file of longspan (no '", key,
                   "' in its metadata)");
    return found->second;
  };
  LONGSPAN_CHECK(metadata("format") == kFormat, path, ": expected format ", kFormat, ", got ", metadata("format"));
  LONGSPAN_CHECK(metadata("model") == model.identity(), path,
                 ": the state belongs to another model (another configuration or other weights)");
  NamedTensors tensors;
  for (const auto& [name, info] : file.tensors()) tensors[name] = read_tensor(file, name);
  LONGSPAN_CHECK(metadata("fingerprint") == fingerprint(tensors), path,
                 ": the content was altered after it was written");

  // From here on the file is what save_state() wrote.
  ModelState state;
  state.layers.resize(static_cast<std::size_t>(model.config().layers));
  for (const auto& [name, tensor] : tensors) {
    if (name == "positions") {
      state.positions = tensor;
      continue;
    }
    const auto dot = name.find('.', 7);
    state.layers.at(std::stoul(name.substr(7, dot - 7))).set(name.substr(dot + 1), tensor);
  }
  return state;
}

}  // namespace longspan::models
