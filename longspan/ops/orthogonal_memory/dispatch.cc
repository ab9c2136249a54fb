#include "longspan/ops/orthogonal_memory/dispatch.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include "longspan/ops/orthogonal_memory/orthogonal_memory.h"

namespace longspan::ops {
namespace memory {
namespace {

template <class Signature>
c10::TypedOperatorHandle<Signature> find(const char* name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
}

}  // namespace

at::Tensor call_forward(const at::Tensor& q, const at::Tensor& m, const at::Tensor& basis, std::string_view form,
                        double scale, const OptionalTensor& cu_seqlens, const OptionalTensor& cu_seqlens_source,
                        std::string_view backend) {
  static const auto op = find<decltype(call_forward)>("longspan::orthogonal_memory");
  return op.call(q, m, basis, form, scale, cu_seqlens, cu_seqlens_source, backend);
}

Tensors3 call_backward(const at::Tensor& dout, const at::Tensor& q, const at::Tensor& m, const at::Tensor& basis,
                       std::string_view form, double scale, const OptionalTensor& cu_seqlens,
                       const OptionalTensor& cu_seqlens_source) {
  static const auto op = find<decltype(call_backward)>("longspan::orthogonal_memory_backward");
  return op.call(dout, q, m, basis, form, scale, cu_seqlens, cu_seqlens_source);
}

Tensors4 call_extend(const at::Tensor& q, const at::Tensor& m, const at::Tensor& basis, const at::Tensor& closed,
                     const at::Tensor& open, const at::Tensor& count, double scale, const OptionalTensor& cu_seqlens,
                     std::string_view backend) {
  static const auto op = find<decltype(call_extend)>("longspan::orthogonal_memory_extend");
  return op.call(q, m, basis, closed, open, count, scale, cu_seqlens, backend);
}

Tensors5 call_extend_backward(const OptionalTensor& dout, const OptionalTensor& dclosed_out,
                              const OptionalTensor& dopen_out, const at::Tensor& q, const at::Tensor& m,
                              const at::Tensor& basis, const at::Tensor& closed, const at::Tensor& open,
                              const at::Tensor& count, double scale, const OptionalTensor& cu_seqlens) {
  static const auto op = find<decltype(call_extend_backward)>("longspan::orthogonal_memory_extend_backward");
  return op.call(dout, dclosed_out, dopen_out, q, m, basis, closed, open, count, scale, cu_seqlens);
}

}  // namespace memory

at::Tensor orthogonal_memory(const at::Tensor& q, const at::Tensor& m, const at::Tensor& basis, std::string_view form,
                             double scale, const std::optional<at::Tensor>& cu_seqlens,
                             const std::optional<at::Tensor>& cu_seqlens_source, std::string_view backend) {
  return memory::call_forward(q, m, basis, form, scale, cu_seqlens, cu_seqlens_source, backend);
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> orthogonal_memory_extend(
    const at::Tensor& q, const at::Tensor& m, const at::Tensor& basis, const at::Tensor& closed, const at::Tensor& open,
    const at::Tensor& count, double scale, const std::optional<at::Tensor>& cu_seqlens, std::string_view backend) {
  return memory::call_extend(q, m, basis, closed, open, count, scale, cu_seqlens, backend);
}

}  // namespace longspan::ops
