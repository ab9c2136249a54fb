#include "longspan/models/tensor_files.h"

#include <ATen/ops/empty.h>

#include <utility>
#include <vector>

#include "longspan/base/check.h"
#include "longspan/io/fingerprint.h"

namespace longspan::models {

namespace {

constexpr std::pair<DType, at::ScalarType> kTypes[] = {
    {DType::f64, at::kDouble}, {DType::f32, at::kFloat},   {DType::f16, at::kHalf},  {DType::bf16, at::kBFloat16},
    {DType::i64, at::kLong},   {DType::i32, at::kInt},     {DType::i16, at::kShort}, {DType::i8, at::kChar},
    {DType::u8, at::kByte},    {DType::boolean, at::kBool}};

at::ScalarType scalar_type(DType dtype) {
  for (const auto& [ours, torch] : kTypes)
    if (ours == dtype) return torch;
  throw InternalError("a safetensors element type without a torch type");
}

std::string shape_text(at::IntArrayRef shape) { return str_cat(shape); }

}  // namespace

DType dtype_of(const at::Tensor& tensor) {
  for (const auto& [ours, torch] : kTypes)
    if (torch == tensor.scalar_type()) return ours;
  throw InputError(str_cat("safetensors: no element type for ", tensor.scalar_type()));
}

void write_tensors(const std::string& path, const NamedTensors& tensors,
                   const std::map<std::string, std::string>& metadata) {
  std::vector<at::Tensor> kept;
  std::vector<TensorToWrite> list;
  for (const auto& [name, tensor] : tensors) {
    kept.push_back(tensor.detach().contiguous());
    list.push_back({name, dtype_of(tensor), kept.back().sizes().vec(), kept.back().const_data_ptr()});
  }
  write_safetensors(path, std::move(list), metadata);
}

at::Tensor read_tensor(const SafetensorsFile& file, const std::string& name) {
  const TensorInfo& info = file.at(name);
  at::Tensor tensor = at::empty(info.shape, at::TensorOptions().dtype(scalar_type(info.dtype)));
  file.copy_to(name, tensor.mutable_data_ptr());
  return tensor;
}

void check_tensor(const SafetensorsFile& file, const std::string& name, const at::Tensor& expected) {
  LONGSPAN_CHECK(file.contains(name), file.path(), ": tensor '", name, "' is missing");
  const TensorInfo& info = file.at(name);
  LONGSPAN_CHECK(at::IntArrayRef(info.shape) == expected.sizes(), file.path(), ": tensor '", name, "' must have shape ",
                 shape_text(expected.sizes()), ", got ", shape_text(info.shape));
  LONGSPAN_CHECK(info.dtype == dtype_of(expected), file.path(), ": tensor '", name, "' must have dtype ",
                 name_of(dtype_of(expected)), ", got ", name_of(info.dtype));
}

void check_tensors(const SafetensorsFile& file, const NamedTensors& expected) {
  for (const auto& [name, tensor] : expected) check_tensor(file, name, tensor);
  for (const auto& [name, info] : file.tensors())
    LONGSPAN_CHECK(expected.contains(name), file.path(), ": tensor '", name, "' is not part of the model");
}

void read_into(const SafetensorsFile& file, const NamedTensors& into) {
  for (const auto& [name, tensor] : into) {
    at::Tensor target = tensor.detach();
    target.copy_(read_tensor(file, name));
  }
}

std::string fingerprint(const NamedTensors& tensors) {
  Fingerprint out;
  for (const auto& [name, tensor] : tensors) {
    const at::Tensor data = tensor.detach().contiguous();
    out.add(name);
    out.add(name_of(dtype_of(data)));
    out.add(shape_text(data.sizes()));
    out.add(data.const_data_ptr(), data.nbytes());
  }
  return out.hex();
}

}  // namespace longspan::models
