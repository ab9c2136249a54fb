#include "longspan/models/state_file.h"

#include "longspan/io/json.h"

namespace longspan::models {

namespace {

constexpr const char* kStateFormat = "longspan.state.2";
constexpr const char* kFingerprint = "fingerprint";

std::string prefix(std::size_t layer) { return str_cat("layers.", layer, "."); }

std::string dtype_name(const LanguageModel& model) {
  return std::string(name_of(dtype_of(model.weights().at("embedding"))));
}

/// What a fresh state of one stream looks like in a file: the shapes of all.
std::map<std::string, StateTensor> first_tensors(const LanguageModel& model) {
  std::map<std::string, StateTensor> out;
  for (const auto& [name, tensor] : state_tensors(model.begin(1))) out[name] = {dtype_of(tensor), tensor.sizes().vec()};
  return out;
}

}  // namespace

NamedTensors state_tensors(const ModelState& state) {
  NamedTensors out = {{kStatePositions, state.positions}};
  for (std::size_t i = 0; i < state.layers.size(); ++i)
    for (const auto& [name, tensor] : state.layers[i].tensors()) out[prefix(i) + name] = tensor;
  return out;
}

ModelState state_from(const NamedTensors& tensors, const LanguageModel& model) {
  ModelState state = model.begin(1);
  state.positions = tensors.at(kStatePositions);
  for (std::size_t i = 0; i < state.layers.size(); ++i) {
    nn::State layer;
    for (const auto& [name, fresh] : state.layers[i].tensors()) layer.set(name, tensors.at(prefix(i) + name));
    state.layers[i] = std::move(layer);
  }
  return state;
}

std::string content_fingerprint(const NamedTensors& tensors, const Metadata& metadata) {
  return longspan::content_fingerprint(fingerprint(tensors), metadata);
}

void write_bound(const std::string& path, const std::string& format, const LanguageModel& model,
                 const NamedTensors& tensors, Metadata metadata) {
  metadata["format"] = format;
  metadata["configuration"] = to_json(model.config()).dump();
  metadata["dtype"] = dtype_name(model);
  metadata["weights"] = fingerprint(model.weights());
  metadata[kFingerprint] = content_fingerprint(tensors, metadata);
  write_tensors(path, tensors, metadata);
}

NamedTensors read_bound(const SafetensorsFile& file, const std::string& format, const LanguageModel& model,
                        const ExtraTensors& extra) {
  // Before anything is read: a file cannot ask for more memory than it has bytes.
  check_state_file(file, {format, to_json(model.config()), dtype_name(model), fingerprint(model.weights()),
                          first_tensors(model), extra});
  NamedTensors tensors;
  for (const auto& [name, info] : file.tensors()) tensors[name] = read_tensor(file, name);
  return tensors;
}

void save_state(const std::string& path, const LanguageModel& model, const ModelState& state) {
  LONGSPAN_CHECK(static_cast<int64_t>(state.layers.size()) == model.config().layers, path, ": the state has ",
                 state.layers.size(), " layers, the model ", model.config().layers);
  write_bound(path, kStateFormat, model, state_tensors(state), {});
}

ModelState load_state(const std::string& path, const LanguageModel& model) {
  const SafetensorsFile file(path);
  return state_from(read_bound(file, kStateFormat, model), model);
}

}  // namespace longspan::models
