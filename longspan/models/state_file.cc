#include "longspan/models/state_file.h"

#include <algorithm>

#include "longspan/io/json.h"
#include "longspan/models/identity.h"

namespace longspan::models {

namespace {

constexpr const char* kStateFormat = "longspan.state.2";
constexpr const char* kPositions = "positions";
constexpr const char* kFingerprint = "fingerprint";
constexpr int64_t kMostTokens = int64_t{1} << 53;
constexpr int64_t kMostRows = int64_t{1} << 32;  // no product of sizes overflows

std::string prefix(std::size_t layer) { return str_cat("layers.", layer, "."); }

std::string dtype_name(const LanguageModel& model) {
  return std::string(name_of(dtype_of(model.weights().at("embedding"))));
}

/// "layers = 2" of this model where `theirs` has another; "" where they agree.
std::string first_difference(const Json& theirs, const Json& ours, const std::string& path) {
  for (const auto& [name, value] : ours.items()) {
    const bool has = theirs.contains(name);
    if (has && theirs[name] == value) continue;
    if (has && value.is_object() && theirs[name].is_object())
      return first_difference(theirs[name], value, path + name + ".");
    return str_cat("with ", path, name, " = ", has ? theirs[name].dump() : "nothing", ", this one has ", value.dump());
  }
  for (const auto& [name, value] : theirs.items())
    if (!ours.contains(name)) return str_cat("with ", path, name, " = ", value.dump(), ", which this one lacks");
  return "";
}

void check_model(const SafetensorsFile& file, const LanguageModel& model) {
  const Json theirs = parse_json(file.metadata("configuration"), file.path() + ": configuration");
  LONGSPAN_CHECK(theirs.is_object(), file.path(), ": configuration must be an object");
  const std::string difference = first_difference(theirs, to_json(model.config()), "");
  LONGSPAN_CHECK(difference.empty(), file.path(), ": the state belongs to another model, ", difference);
  const std::string &dtype = file.metadata("dtype"), ours = dtype_name(model);
  LONGSPAN_CHECK(dtype == ours, file.path(), ": the state was made with weights of ", dtype, ", these are ", ours);
  LONGSPAN_CHECK(file.metadata("weights") == fingerprint(model.weights()), file.path(),
                 ": the state belongs to another model, of the same configuration with other weights");
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

void check_extra(const SafetensorsFile& file, const TensorLayouts& extra) {
  for (const auto& [name, layout] : extra) {
    LONGSPAN_CHECK(file.contains(name), file.path(), ": tensor '", name, "' is missing");
    const TensorInfo& info = file.at(name);
    const bool fits = std::count(layout.dtypes.begin(), layout.dtypes.end(), info.dtype) > 0 &&
                      static_cast<int64_t>(info.shape.size()) == layout.dimensions && info.shape[0] <= layout.most;
    LONGSPAN_CHECK(fits, file.path(), ": tensor '", name, "' must be ", name_of(layout.dtypes.front()), " of ",
                   layout.dimensions, " dimension with up to ", layout.most, " rows, got ", name_of(info.dtype), " ",
                   at::IntArrayRef(info.shape));
  }
}

/// Names, dtypes and shapes, before anything is read.
void check_layout(const SafetensorsFile& file, const NamedTensors& first, const TensorLayouts& extra) {
  for (const auto& [name, tensor] : first)
    LONGSPAN_CHECK(file.contains(name), file.path(), ": tensor '", name, "' is missing");
  const auto& positions = file.at(kPositions);
  LONGSPAN_CHECK(positions.shape.size() == 1 && positions.shape[0] <= kMostRows, file.path(),
                 ": positions must be [batch], got ", at::IntArrayRef(positions.shape));
  check_extra(file, extra);
  for (const auto& [name, info] : file.tensors()) {
    if (extra.contains(name)) continue;
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

NamedTensors state_tensors(const ModelState& state) {
  NamedTensors out = {{kPositions, state.positions}};
  for (std::size_t i = 0; i < state.layers.size(); ++i)
    for (const auto& [name, tensor] : state.layers[i].tensors()) out[prefix(i) + name] = tensor;
  return out;
}

ModelState state_from(const NamedTensors& tensors, const LanguageModel& model) {
  ModelState state = model.begin(1);
  state.positions = tensors.at(kPositions);
  for (std::size_t i = 0; i < state.layers.size(); ++i) {
    nn::State layer;
    for (const auto& [name, fresh] : state.layers[i].tensors()) layer.set(name, tensors.at(prefix(i) + name));
    state.layers[i] = std::move(layer);
  }
  return state;
}

std::string content_fingerprint(const NamedTensors& tensors, const Metadata& metadata) {
  Fingerprint out;
  out.add(fingerprint(tensors));
  for (const auto& [name, text] : metadata) {
    if (name == kFingerprint) continue;
    out.add(name);
    out.add(text);
  }
  return out.hex();
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
                        const TensorLayouts& extra) {
  const std::string& found = file.metadata("format");
  LONGSPAN_CHECK(found == format, file.path(), ": expected format ", format, ", got ", found);
  check_model(file, model);
  // One stream: its fresh state has the shapes of all, and a file cannot ask for more memory than it has bytes.
  check_layout(file, state_tensors(model.begin(1)), extra);
  NamedTensors tensors;
  for (const auto& [name, info] : file.tensors()) tensors[name] = read_tensor(file, name);
  LONGSPAN_CHECK(file.metadata(kFingerprint) == content_fingerprint(tensors, file.metadata()), file.path(),
                 ": the content was altered after it was written");
  check_counts(file.path(), tensors);
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
