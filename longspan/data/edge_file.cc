#include "longspan/data/edge_file.h"

#include <array>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "longspan/base/check.h"
#include "longspan/io/mapped_file.h"
#include "longspan/io/safetensors.h"

namespace longspan {

namespace {

constexpr std::array<std::pair<const char*, const char*>, 3> kNames = {
    {{"row_ptr", "col"}, {"crow_indices", "col_indices"}, {"indptr", "indices"}}};

template <class T>
std::vector<int64_t> widened(const TensorInfo& tensor) {
  std::vector<T> values(static_cast<std::size_t>(tensor.elements()));
  if (!values.empty()) std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());  // may not be aligned
  return {values.begin(), values.end()};
}

std::vector<int64_t> numbers(const SafetensorsFile& file, const char* name) {
  const TensorInfo& tensor = file.at(name);
  LONGSPAN_CHECK(tensor.shape.size() == 1, file.path(), ": tensor '", name, "' must have one dimension, got ",
                 tensor.shape.size());
  LONGSPAN_CHECK(tensor.dtype == DType::i64 || tensor.dtype == DType::i32, file.path(), ": tensor '", name,
                 "' must be I64 or I32, got ", name_of(tensor.dtype));
  return tensor.dtype == DType::i64 ? widened<int64_t>(tensor) : widened<int32_t>(tensor);
}

}  // namespace

patterns::EdgeList read_edges(const std::string& path, std::optional<int64_t> n) {
  if (!path.ends_with(".safetensors")) {
    const MappedFile file(path);
    const auto bytes = file.bytes();
    return patterns::parse_edges({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path, n);
  }
  const SafetensorsFile file(path);
  for (const auto& [rows, columns] : kNames)
    if (file.contains(rows) && file.contains(columns))
      return patterns::edges_from_csr(numbers(file, rows), numbers(file, columns), path, n);
  throw InputError(path +
                   ": has no compressed rows: the tensors row_ptr and col (or crow_indices and col_indices, or "
                   "indptr and indices)");
}

}  // namespace longspan
