#include "longspan/io/state_file.h"

#include <algorithm>
#include <cstring>

#include "longspan/base/check.h"
#include "longspan/io/fingerprint.h"

namespace longspan {

namespace {

constexpr int64_t kMostTokens = int64_t{1} << 53;
constexpr int64_t kMostRows = int64_t{1} << 32;  // no product of sizes overflows

/// Whether `info` may be a later form of `first`, for `batch` streams.
bool may_be(const TensorInfo& info, const TensorLayout& first, int64_t batch) {
  if (info.dtype != first.dtype && !(first.dtype == DType::f32 && info.dtype == DType::bf16)) return false;
  if (info.shape.empty() || info.shape.size() != first.shape.size() || info.shape[0] != batch) return false;
  for (std::size_t dim = 1; dim < first.shape.size(); ++dim)
    if (first.shape[dim] == 0 ? info.shape[dim] > kMostRows : info.shape[dim] != first.shape[dim]) return false;
  return true;
}

/// Names, dtypes and shapes.
void check_layout(const SafetensorsFile& file, const std::map<std::string, TensorLayout>& first) {
  for (const auto& [name, layout] : first)
    LONGSPAN_CHECK(file.contains(name), file.path(), ": tensor '", name, "' is missing");
  const TensorInfo& positions = file.at(kStatePositions);
  LONGSPAN_CHECK(positions.shape.size() == 1 && positions.shape[0] <= kMostRows, file.path(),
                 ": positions must be [batch], got ", shape_text(positions.shape));
  for (const auto& [name, info] : file.tensors()) {
    const auto expected = first.find(name);
    LONGSPAN_CHECK(expected != first.end(), file.path(), ": tensor '", name, "' is not part of the state");
    const TensorLayout& layout = expected->second;
    LONGSPAN_CHECK(may_be(info, layout, positions.shape[0]), file.path(), ": tensor '", name, "' must be ",
                   name_of(layout.dtype), " like ", shape_text(layout.shape), " of each of ", positions.shape[0],
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

/// As models::fingerprint() of the tensors, which the writer took.
std::string fingerprint(const SafetensorsFile& file) {
  Fingerprint out;
  for (const auto& [name, info] : file.tensors()) {
    out.add(name);
    out.add(name_of(info.dtype));
    out.add(shape_text(info.shape));
    out.add(info.bytes.data(), info.bytes.size());
  }
  return out.hex();
}

}  // namespace

void check_state_file(const SafetensorsFile& file, const std::string& model,
                      const std::map<std::string, TensorLayout>& first) {
  const std::string& format = file.metadata("format");
  LONGSPAN_CHECK(format == kStateFormat, file.path(), ": expected format ", kStateFormat, ", got ", format);
  LONGSPAN_CHECK(file.metadata("model") == model, file.path(),
                 ": the state belongs to another model (another configuration or other weights)");
  check_layout(file, first);
  check_counts(file);
  LONGSPAN_CHECK(file.metadata("fingerprint") == fingerprint(file), file.path(),
                 ": the content was altered after it was written");
}

}  // namespace longspan
