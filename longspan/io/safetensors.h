// Reading and writing safetensors files: 8 bytes of header length (little endian), a JSON header, the tensors' bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "longspan/io/mapped_file.h"

namespace longspan {

/// Element types of the format that longspan knows.
enum class DType { f64, f32, f16, bf16, i64, i32, i16, i8, u8, boolean };

/// Bytes per element.
int64_t size_of(DType dtype);
/// The format's own name: "F64", "BF16", "BOOL", ...
std::string_view name_of(DType dtype);
/// "[2, 3]", in messages.
std::string shape_text(const std::vector<int64_t>& shape);

/// A tensor of a file: row-major, little endian. An empty shape is a scalar.
struct TensorInfo {
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  /// Inside the mapping; lives as long as the file object. Foreign files may not align it to the element size.
  std::span<const std::byte> bytes;

  int64_t elements() const { return static_cast<int64_t>(bytes.size()) / size_of(dtype); }
};

/// A mapped file, checked completely when it is opened: every range lies inside the file, ranges neither overlap nor
/// leave holes, and sizes agree with shapes. Throws InputError "<path>: ..." that says what is wrong. Movable.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(std::string path);

  const std::string& path() const { return file_.path(); }
  /// By name.
  const std::map<std::string, TensorInfo>& tensors() const { return tensors_; }
  bool contains(const std::string& name) const { return tensors_.contains(name); }
  /// Throws InputError when there is no such tensor.
  const TensorInfo& at(const std::string& name) const;
  /// The `__metadata__` object, empty when the file has none.
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  /// One text of it. Throws InputError when there is none of that name.
  const std::string& metadata(const std::string& key) const;
  /// Copies the bytes of a tensor to `out`, which has at(name).bytes.size() bytes of room.
  void copy_to(const std::string& name, void* out) const;

 private:
  MappedFile file_;
  std::map<std::string, TensorInfo> tensors_;
  std::map<std::string, std::string> metadata_;
};

/// A tensor to be written: row-major bytes that live until the call returns.
struct TensorToWrite {
  std::string name;
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  const void* data = nullptr;
};

/// Writes a file through AtomicFile, tensor by tensor. The data begin at a multiple of 8 bytes and wider elements come
/// first (then by name), so that every tensor is aligned to its element size. Equal content gives equal bytes.
/// Throws InputError for a name that stands twice, is empty or "__metadata__", or a negative dimension; RunError when
/// writing fails.
void write_safetensors(const std::string& path, std::vector<TensorToWrite> tensors,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace longspan
