#include "longspan/io/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

#include "longspan/base/check.h"
#include "longspan/io/atomic_file.h"
#include "longspan/io/json.h"

namespace longspan {

static_assert(std::endian::native == std::endian::little, "the format is little endian and is read as it lies");

namespace {

struct DTypeInfo {
  DType dtype;
  int64_t size;
  std::string_view name;
};

constexpr std::array<DTypeInfo, 10> kDTypes = {{
    {DType::f64, 8, "F64"},
    {DType::f32, 4, "F32"},
    {DType::f16, 2, "F16"},
    {DType::bf16, 2, "BF16"},
    {DType::i64, 8, "I64"},
    {DType::i32, 4, "I32"},
    {DType::i16, 2, "I16"},
    {DType::i8, 1, "I8"},
    {DType::u8, 1, "U8"},
    {DType::boolean, 1, "BOOL"},
}};

constexpr bool in_enum_order() {
  for (std::size_t i = 0; i < kDTypes.size(); ++i)
    if (static_cast<std::size_t>(kDTypes[i].dtype) != i) return false;
  return true;
}
static_assert(in_enum_order());

constexpr std::string_view kMetadata = "__metadata__";
constexpr uint64_t kLengthBytes = 8;
/// As in the format's own readers: what a hostile file can make a reader parse is limited.
constexpr uint64_t kMaximumHeader = 100'000'000;

/// Bytes of a tensor. Throws InputError "<owner> ..." for a negative dimension or a product beyond int64.
int64_t checked_bytes(const std::string& owner, DType dtype, const std::vector<int64_t>& shape) {
  int64_t bytes = size_of(dtype);
  for (const int64_t dimension : shape) {
    LONGSPAN_CHECK(dimension >= 0, owner, " has a negative dimension: ", shape_text(shape));
    LONGSPAN_CHECK(!__builtin_mul_overflow(bytes, dimension, &bytes), owner,
                   " has a shape that is too large: ", shape_text(shape));
  }
  return bytes;
}

const Json& member(const std::string& owner, const Json& entry, const char* key) {
  const auto found = entry.find(key);
  LONGSPAN_CHECK(found != entry.end(), owner, " has no ", key);
  return *found;
}

DType parse_dtype(const std::string& owner, const Json& json) {
  LONGSPAN_CHECK(json.is_string(), owner, " has a dtype that is not text");
  const auto& name = json.get_ref<const std::string&>();
  for (const auto& info : kDTypes)
    if (info.name == name) return info.dtype;
  std::string known;
  for (const auto& info : kDTypes) known += (known.empty() ? "" : ", ") + std::string(info.name);
  throw InputError(str_cat(owner, " has the dtype '", name, "', expected one of ", known));
}

std::vector<int64_t> parse_shape(const std::string& owner, const Json& json) {
  LONGSPAN_CHECK(json.is_array(), owner, " has a shape that is not an array");
  std::vector<int64_t> shape;
  for (const auto& dimension : json) {
    LONGSPAN_CHECK(dimension.is_number_integer(), owner, " has a shape with an entry that is not an integer");
    LONGSPAN_CHECK(!dimension.is_number_unsigned() ||
                       dimension.get<uint64_t>() <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max()),
                   owner, " has a shape that is too large: dimension ", dimension.get<uint64_t>());
    shape.push_back(dimension.get<int64_t>());
  }
  return shape;
}

struct Range {
  uint64_t begin = 0;
  uint64_t end = 0;
  std::string name;
};

Range parse_range(const std::string& owner, const std::string& name, const Json& json, uint64_t data_size) {
  LONGSPAN_CHECK(json.is_array() && json.size() == 2 && json[0].is_number_unsigned() && json[1].is_number_unsigned(),
                 owner, " has data_offsets that are not two integers of at least 0");
  Range range{json[0].get<uint64_t>(), json[1].get<uint64_t>(), name};
  LONGSPAN_CHECK(range.begin <= range.end, owner, " has data_offsets in the wrong order: [", range.begin, ", ",
                 range.end, "]");
  LONGSPAN_CHECK(range.end <= data_size, owner, " has data_offsets [", range.begin, ", ", range.end,
                 "] out of the file, which holds ", data_size, " bytes of data");
  return range;
}

/// Ranges must cover [0, data_size) exactly: no byte belongs to two tensors, and none is hidden.
void check_tiling(const std::string& path, std::vector<Range> ranges, uint64_t data_size) {
  std::sort(ranges.begin(), ranges.end(),
            [](const Range& a, const Range& b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
  uint64_t covered = 0;
  const std::string* previous = nullptr;
  for (const auto& range : ranges) {
    LONGSPAN_CHECK(range.begin >= covered, path, ": the data of tensors '", *previous, "' and '", range.name,
                   "' overlap");
    LONGSPAN_CHECK(range.begin == covered, path, ": bytes ", covered, " to ", range.begin,
                   " of the data belong to no tensor");
    covered = range.end;
    previous = &range.name;
  }
  LONGSPAN_CHECK(covered == data_size, path, ": bytes ", covered, " to ", data_size,
                 " of the data belong to no tensor");
}

}  // namespace

int64_t size_of(DType dtype) { return kDTypes[static_cast<std::size_t>(dtype)].size; }
std::string_view name_of(DType dtype) { return kDTypes[static_cast<std::size_t>(dtype)].name; }

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string out = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) out += (i ? ", " : "") + std::to_string(shape[i]);
  return out + "]";
}

SafetensorsFile::SafetensorsFile(std::string path) : file_(std::move(path)) {
  const std::string& name = file_.path();
  const auto bytes = file_.bytes();
  LONGSPAN_CHECK(bytes.size() >= kLengthBytes, name, ": truncated: ", bytes.size(),
                 " bytes, too short for a safetensors file");
  uint64_t header_size = 0;
  std::memcpy(&header_size, bytes.data(), kLengthBytes);
  const uint64_t rest = bytes.size() - kLengthBytes;
  LONGSPAN_CHECK(header_size <= rest, name, ": truncated or not a safetensors file: a header of ", header_size,
                 " bytes in a file of ", bytes.size());
  LONGSPAN_CHECK(header_size <= kMaximumHeader, name, ": the header of ", header_size, " bytes is longer than ",
                 kMaximumHeader);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + kLengthBytes, header_size);
  const Json header = parse_json(text, name + ": header");
  LONGSPAN_CHECK(header.is_object(), name, ": the header is not an object but ", header.type_name());

  const auto data = bytes.subspan(kLengthBytes + header_size);
  std::vector<Range> ranges;
  for (const auto& [key, entry] : header.items()) {
    if (key == kMetadata) {
      LONGSPAN_CHECK(entry.is_object(), name, ": ", kMetadata, " is not an object");
      for (const auto& [field, value] : entry.items()) {
        LONGSPAN_CHECK(value.is_string(), name, ": ", kMetadata, ": ", field, " is not text");
        metadata_[field] = value.get<std::string>();
      }
      continue;
    }
    const std::string owner = str_cat(name, ": tensor '", key, "'");
    LONGSPAN_CHECK(entry.is_object(), owner, " is not described by an object");
    TensorInfo info;
    info.dtype = parse_dtype(owner, member(owner, entry, "dtype"));
    info.shape = parse_shape(owner, member(owner, entry, "shape"));
    const int64_t expected = checked_bytes(owner, info.dtype, info.shape);
    Range range = parse_range(owner, key, member(owner, entry, "data_offsets"), data.size());
    LONGSPAN_CHECK(range.end - range.begin == static_cast<uint64_t>(expected), owner, " has ", range.end - range.begin,
                   " bytes of data, but ", name_of(info.dtype), " ", shape_text(info.shape), " takes ", expected);
    info.bytes = data.subspan(range.begin, range.end - range.begin);
    tensors_.emplace(key, std::move(info));
    ranges.push_back(std::move(range));
  }
  check_tiling(name, std::move(ranges), data.size());
}

const TensorInfo& SafetensorsFile::at(const std::string& name) const {
  const auto found = tensors_.find(name);
  LONGSPAN_CHECK(found != tensors_.end(), path(), ": has no tensor '", name, "'");
  return found->second;
}

const std::string& SafetensorsFile::metadata(const std::string& key) const {
  const auto found = metadata_.find(key);
  LONGSPAN_CHECK(found != metadata_.end(), path(), ": has no '", key, "' in its metadata");
  return found->second;
}

void SafetensorsFile::copy_to(const std::string& name, void* out) const {
  const auto bytes = at(name).bytes;
  if (!bytes.empty()) std::memcpy(out, bytes.data(), bytes.size());
}

void write_safetensors(const std::string& path, std::vector<TensorToWrite> tensors,
                       const std::map<std::string, std::string>& metadata) {
  std::sort(tensors.begin(), tensors.end(), [](const TensorToWrite& a, const TensorToWrite& b) {
    const auto key = [](const TensorToWrite& t) { return std::pair(-size_of(t.dtype), std::string_view(t.name)); };
    return key(a) < key(b);
  });

  Json header = Json::object();
  if (!metadata.empty()) header[std::string(kMetadata)] = metadata;
  std::vector<int64_t> sizes;
  int64_t offset = 0;
  for (const auto& tensor : tensors) {
    LONGSPAN_CHECK(!tensor.name.empty() && tensor.name != kMetadata, path, ": '", tensor.name,
                   "' cannot be the name of a tensor");
    LONGSPAN_CHECK(!header.contains(tensor.name), path, ": two tensors have the name '", tensor.name, "'");
    sizes.push_back(checked_bytes(str_cat(path, ": tensor '", tensor.name, "'"), tensor.dtype, tensor.shape));
    header[tensor.name] = {
        {"dtype", name_of(tensor.dtype)}, {"shape", tensor.shape}, {"data_offsets", {offset, offset + sizes.back()}}};
    offset += sizes.back();
  }

  std::string text;
  try {
    text = header.dump();
  } catch (const Json::type_error&) {
    throw InputError(str_cat(path, ": a name or a metadata text is not valid UTF-8"));
  }
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const uint64_t header_size = text.size();
  AtomicFile file(path);
  file.write(&header_size, kLengthBytes);
  file.write(text);
  for (std::size_t i = 0; i < tensors.size(); ++i) file.write(tensors[i].data, static_cast<std::size_t>(sizes[i]));
  file.commit();
}

}  // namespace longspan
