#include "longspan/models/model_state.h"

#include <ATen/ops/cat.h>

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

constexpr const char* kPositions = "positions";
constexpr int64_t kMostTokens = int64_t{1} << 53;
constexpr int64_t kMostRows = int64_t{1} << 32;  // no product of sizes overflows

std::string prefix(std::size_t layer) { return str_cat("layers.", layer, "."); }

/// The tensors of a state as a file names them.
NamedTensors named(const ModelState& state) {
  NamedTensors out = {{kPositions, state.positions}};
  for (std::size_t i = 0; i < state.layers.size(); ++i)
    for (const auto& [name, tensor] : state.layers[i].tensors()) out[prefix(i) + name] = tensor;
  return out;
}

/// Whether `info` may be a later form of the first state's tensor `first`: the batch is free, and so is what was empty
/// at first (a growing cache). Autocast leaves float32 caches in bfloat16.
bool may_be(const TensorInfo& info, const at::Tensor& first, int64_t batch) {
  const DType dtype = dtype_of(first);
  if (info.dtype != dtype && !(dtype == DType::f32 && info.dtype == DType::bf16)) return false;
  if (static_cast<int64_t>(info.shape.size()) != first.dim() || info.shape[0] != batch) return false;
  for (int64_t dim = 1; dim < first.dim(); ++dim) {
    const int64_t size = info.shape[static_cast<std::size_t>(dim)];
    if (first.size(dim) == 0 ? size > kMostRows : size != first.size(dim)) return false;
  }
  return true;
}

/// Names, dtypes and shapes, before anything is read.
void check_layout(const SafetensorsFile& file, const NamedTensors& first) {
  for (const auto& [name, tensor] : first)
    LONGSPAN_CHECK(file.contains(name), file.path(), ": tensor '", name, "' is missing");
  const auto& positions = file.at(kPositions);
  LONGSPAN_CHECK(positions.shape.size() == 1 && positions.shape[0] <= kMostRows, file.path(),
                 ": positions must be [batch], got ", at::IntArrayRef(positions.shape));
  for (const auto& [name, info] : file.tensors()) {
    const auto expected = first.find(name);
    LONGSPAN_CHECK(expected != first.end(), file.path(), ": tensor '", name, "' is not part of the state");
    LONGSPAN_CHECK(may_be(info, expected->second, positions.shape[0]), file.path(), ": tensor '", name, "' must be ",
                   name_of(dtype_of(expected->second)), " like ", expected->second.sizes(), " of each of ",
                   positions.shape[0], " streams, got ", name_of(info.dtype), " ", at::IntArrayRef(info.shape));
  }
}

/// Counters: every layer has read what the model has.
void check_counts(const std::string& path, const NamedTensors& tensors) {
  const at::Tensor& positions = tensors.at(kPositions);
  for (const auto& [name, tensor] : tensors)
    LONGSPAN_CHECK(tensor.scalar_type() != at::kLong ||
                       (tensor.ge(0).all().item<bool>() && tensor.le(kMostTokens).all().item<bool>()),
                   path, ": tensor '", name, "' must count from 0 to 2^53");
  for (const auto& [name, tensor] : tensors)
    LONGSPAN_CHECK(!name.ends_with(".count") || tensor.equal(positions), path, ": tensor '", name,
                   "' must equal positions");
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

ModelState ModelState::stack(const std::vector<ModelState>& states) {
  LONGSPAN_CHECK(!states.empty(), "state: there are no streams to stack");
  ModelState out;
  std::vector<at::Tensor> positions;
  for (const ModelState& state : states) {
    LONGSPAN_CHECK(state.layers.size() == states.front().layers.size(),
                   "state: streams to stack must come from one model, got ", states.front().layers.size(), " and ",
                   state.layers.size(), " layers");
    positions.push_back(state.positions);
  }
  for (std::size_t i = 0; i < states.front().layers.size(); ++i) {
    std::vector<nn::State> layer;
    for (const ModelState& state : states) layer.push_back(state.layers[i]);
    out.layers.push_back(nn::State::stack(layer));
  }
  out.positions = at::cat(positions);
  return out;
}

void save_state(const std::string& path, const LanguageModel& model, const ModelState& state) {
  LONGSPAN_CHECK(static_cast<int64_t>(state.layers.size()) == model.config().layers, path, ": the state has ",
                 state.layers.size(), " layers, the model ", model.config().layers);
  const NamedTensors tensors = named(state);
  write_tensors(path, tensors,
                {{"format", kFormat}, {"model", model.identity()}, {"fingerprint", fingerprint(tensors)}});
}

ModelState load_state(const std::string& path, const LanguageModel& model) {
  const SafetensorsFile file(path);
  const std::string& format = file.metadata("format");
  LONGSPAN_CHECK(format == kFormat, path, ": expected format ", kFormat, ", got ", format);
  LONGSPAN_CHECK(file.metadata("model") == model.identity(), path,
                 ": the state belongs to another model (another configuration or other weights)");
  // One stream: its fresh state has the shapes of all, and a file cannot ask for more memory than it has bytes.
  ModelState state = model.begin(1);
  check_layout(file, named(state));
  NamedTensors tensors;
  for (const auto& [name, info] : file.tensors()) tensors[name] = read_tensor(file, name);
  LONGSPAN_CHECK(file.metadata("fingerprint") == fingerprint(tensors), path,
                 ": the content was altered after it was written");
  check_counts(path, tensors);

  state.positions = tensors.at(kPositions);
  for (std::size_t i = 0; i < state.layers.size(); ++i) {
    nn::State layer;
    for (const auto& [name, fresh] : state.layers[i].tensors()) layer.set(name, tensors.at(prefix(i) + name));
    state.layers[i] = std::move(layer);
  }
  return state;
}

}  // namespace longspan::models
