// The rule of autocast, one for all operators.
//
// Where autocast asks for bfloat16 and one of an operator's activations (q, k and v; q and m) is bfloat16, the operator
// runs in bfloat16: its activations are cast to it, but for those that it takes in float32 beside bfloat16 and that are
// float32. Otherwise everything is float32. Parameters (table, basis), which are small beside the scores, are always
// float32.
#pragma once

#include <ATen/autocast_mode.h>

#include <initializer_list>

namespace longspan::ops {

class Autocast {
 public:
  Autocast(c10::DeviceType device, std::initializer_list<at::Tensor> activations) : device_(device) {
    if (at::autocast::get_autocast_dtype(device) != at::kBFloat16) return;
    for (const at::Tensor& t : activations)
      if (t.scalar_type() == at::kBFloat16) dtype_ = at::kBFloat16;
  }

  at::Tensor activation(const at::Tensor& t) const { return at::autocast::cached_cast(dtype_, t, device_); }
  /// One that the operator takes in float32 too.
  at::Tensor wide_activation(const at::Tensor& t) const {
    return t.scalar_type() == at::kBFloat16 ? activation(t) : wide(t);
  }
  /// A tensor, or an optional one.
  template <class T>
  T parameter(const T& t) const {
    return wide(t);
  }

 private:
  template <class T>
  T wide(const T& t) const {
    return at::autocast::cached_cast(at::kFloat, t, device_);
  }

  c10::DeviceType device_;
  at::ScalarType dtype_ = at::kFloat;
};

}  // namespace longspan::ops
