// Torch tensors in safetensors files.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>

#include "longspan/io/safetensors.h"

namespace longspan::models {

using NamedTensors = std::map<std::string, at::Tensor>;

/// The format's element type of a tensor; InputError for one that it lacks.
DType dtype_of(const at::Tensor& tensor);

/// Writes copies of the tensors (any strides) atomically.
void write_tensors(const std::string& path, const NamedTensors& tensors,
                   const std::map<std::string, std::string>& metadata);

/// A fresh tensor with the content of `name`.
at::Tensor read_tensor(const SafetensorsFile& file, const std::string& name);

/// Throws InputError when `name` is missing or has another shape or dtype than `expected` (which may be on `meta`).
void check_tensor(const SafetensorsFile& file, const std::string& name, const at::Tensor& expected);

/// Throws InputError that names the first tensor of `file` that differs from `expected`: missing, extra, shape, dtype.
void check_tensors(const SafetensorsFile& file, const NamedTensors& expected);

/// Copies the content of every tensor of `into` from the file, after check_tensors.
void read_into(const SafetensorsFile& file, const NamedTensors& into);

/// Bits of all tensors, names included.
std::string fingerprint(const NamedTensors& tensors);

}  // namespace longspan::models
