#include "longspan/models/model_state.h"

#include "longspan/io/state_file.h"
#include "longspan/models/language_model.h"
#include "longspan/models/tensor_files.h"

namespace longspan::models {

namespace {

template <class Each>
ModelState each(const ModelState& state, const Each& call) {
  ModelState out;
  for (const auto& layer : state.layers) out.layers.push_back(call(layer));
  return out;
}

std::string prefix(std::size_t layer) { return str_cat("layers.", layer, "."); }

/// The tensors of a state as a file names them.
NamedTensors named(const ModelState& state) {
  NamedTensors out = {{kStatePositions, state.positions}};
  for (std::size_t i = 0; i < state.layers.size(); ++i)
    for (const auto& [name, tensor] : state.layers[i].tensors()) out[prefix(i) + name] = tensor;
  return out;
}

/// What check_state_file() compares a file with.
std::map<std::string, TensorLayout> layouts(const NamedTensors& tensors) {
  std::map<std::string, TensorLayout> out;
  for (const auto& [name, tensor] : tensors) out[name] = {dtype_of(tensor), tensor.sizes().vec()};
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
  const NamedTensors tensors = named(state);
  write_tensors(path, tensors,
                {{"format", kStateFormat}, {"model", model.identity()}, {"fingerprint", fingerprint(tensors)}});
}

ModelState load_state(const std::string& path, const LanguageModel& model) {
  const SafetensorsFile file(path);
  // One stream: its fresh state has the shapes of all, and a file cannot ask for more memory than it has bytes.
  ModelState state = model.begin(1);
  check_state_file(file, model.identity(), layouts(named(state)));
  state.positions = read_tensor(file, kStatePositions);
  for (std::size_t i = 0; i < state.layers.size(); ++i) {
    nn::State layer;
    for (const auto& [name, fresh] : state.layers[i].tensors()) layer.set(name, read_tensor(file, prefix(i) + name));
    state.layers[i] = std::move(layer);
  }
  return state;
}

}  // namespace longspan::models
