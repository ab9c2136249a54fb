#include "longspan/io/state_file.h"

#include <algorithm>
#include <cstring>

#include "longspan/base/check.h"
#include "longspan/io/fingerprint.h"

namespace longspan {

namespace {

constexpr const char* kFingerprint = "fingerprint";
constexpr int64_t kMostTokens = int64_t{1} << 53;
constexpr int64_t kMostRows = int64_t{1} << 32;  // no product of sizes overflows

/// "with layers = 2, this one has 3" for the first field in which they differ; "" where they agree.
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

void check_model(const SafetensorsFile& file, const ExpectedState& expected) {
  const Json theirs = parse_json(file.metadata("configuration"), file.path() + ": configuration");
  LONGSPAN_CHECK(theirs.is_object(), file.path(), ": configuration must be an object");
  const std::string difference = first_difference(theirs, expected.configuration, "");
  LONGSPAN_CHECK(difference.empty(), file.path(), ": the state belongs to another model, ", difference);
  const std::string& dtype = file.metadata("dtype");
  LONGSPAN_CHECK(dtype == expected.dtype, file.path(), ": the state was made with weights of ", dtype, ", these are ",
                 expected.dtype);
  LONGSPAN_CHECK(file.metadata("weights") == expected.weights, file.path(),
                 ": the state belongs to another model, of the same configuration with other weights");
}

/// Whether `info` may be a later form of `first`, for `batch` streams.
bool may_be(const TensorInfo& info, const StateTensor& first, int64_t batch) {
  if (info.dtype != first.dtype && !(first.dtype == DType::f32 && info.dtype == DType::bf16)) return false;
  if (info.shape.empty() || info.shape.size() != first.shape.size() || info.shape[0] != batch) return false;
  for (std::size_t dim = 1; dim < first.shape.size(); ++dim)
    if (first.shape[dim] == 0 ? info.shape[dim] > kMostRows : info.shape[dim] != first.shape[dim]) return false;
  return true;
}

void check_extra(const SafetensorsFile& file, const std::map<std::string, ExtraTensor>& extra) {
  for (const auto& [name, tensor] : extra) {
    LONGSPAN_CHECK(file.contains(name), file.path(), ": tensor '", name, "' is missing");
    const TensorInfo& info = file.at(name);
    const bool fits = std::ranges::count(tensor.dtypes, info.dtype) > 0 && !info.shape.empty() &&
                      std::ssize(info.shape) == tensor.dimensions && info.shape[0] <= tensor.most;
    LONGSPAN_CHECK(fits, file.path(), ": tensor '", name, "' must be ", name_of(tensor.dtypes.front()), " of ",
                   tensor.dimensions, " dimension with up to ", tensor.most, " rows, got ", name_of(info.dtype), " ",
                   shape_text(info.shape));
  }
}

/// Names, dtypes and shapes.
void check_layout(const SafetensorsFile& file, const ExpectedState& expected) {
  for (const auto& [name, tensor] : expected.first)
    LONGSPAN_CHECK(file.contains(name), file.path(), ": tensor '", name, "' is missing");
  const TensorInfo& positions = file.at(kStatePositions);
  LONGSPAN_CHECK(positions.shape.size() == 1 && positions.shape[0] <= kMostRows, file.path(),
                 ": positions must be [batch], got ", shape_text(positions.shape));
  check_extra(file, expected.extra);
  for (const auto& [name, info] : file.tensors()) {
    if (expected.extra.contains(name)) continue;
    const auto found = expected.first.find(name);
    LONGSPAN_CHECK(found != expected.first.end(), file.path(), ": tensor '", name, "' is not part of the state");
    const StateTensor& first = found->second;
    LONGSPAN_CHECK(may_be(info, first, positions.shape[0]), file.path(), ": tensor '", name, "' must be ",
                   name_of(first.dtype), " like ", shape_text(first.shape), " of each of ", positions.shape[0],
                   " streams, got ", name_of(info.dtype), " ", shape_text(info.shape));
  }
}

bool counts_tokens(const TensorInfo& info) {
  for (int64_t i = 0; i < info.elements(); ++i) {
    int64_t count = 0;
    std::memcpy(&count, info.bytes.data() + i * static_cast<int64_t>(sizeof count), sizeof count);
    if (count < 0 || count > kMostTokens) return false;
  }
  return true;
}

/// Every layer has read what the model has.
void check_counts(const SafetensorsFile& file) {
  const TensorInfo& positions = file.at(kStatePositions);
  for (const auto& [name, info] : file.tensors())
    LONGSPAN_CHECK(info.dtype != DType::i64 || counts_tokens(info), file.path(), ": tensor '", name,
                   "' must count from 0 to 2^53");
  for (const auto& [name, info] : file.tensors())
    LONGSPAN_CHECK(!name.ends_with(".count") || (info.dtype == positions.dtype && info.shape == positions.shape &&
                                                 std::ranges::equal(info.bytes, positions.bytes)),
                   file.path(), ": tensor '", name, "' must equal positions");
}

/// As models::fingerprint() of the tensors that were written.
std::string tensor_fingerprint(const SafetensorsFile& file) {
  Fingerprint tensors;
  for (const auto& [name, info] : file.tensors()) {
    tensors.add(name);
    tensors.add(name_of(info.dtype));
    tensors.add(shape_text(info.shape));
    tensors.add(info.bytes.data(), info.bytes.size());
  }
  return tensors.hex();
}

}  // namespace

std::string content_fingerprint(const std::string& tensors, const std::map<std::string, std::string>& metadata) {
  Fingerprint content;
  content.add(tensors);
  for (const auto& [name, text] : metadata) {
    if (name == kFingerprint) continue;
    content.add(name);
    content.add(text);
  }
  return content.hex();
}

void check_state_file(const SafetensorsFile& file, const ExpectedState& expected) {
  const std::string& format = file.metadata("format");
  LONGSPAN_CHECK(format == expected.format, file.path(), ": expected format ", expected.format, ", got ", format);
  check_model(file, expected);
  check_layout(file, expected);
  check_counts(file);
  const std::string content = content_fingerprint(tensor_fingerprint(file), file.metadata());
  LONGSPAN_CHECK(file.metadata(kFingerprint) == content, file.path(), ": the content was altered after it was written");
}

}  // namespace longspan
