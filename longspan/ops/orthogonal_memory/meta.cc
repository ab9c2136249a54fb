// Shapes and layouts of the results without their values, for tracing and compilation.
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include "longspan/ops/orthogonal_memory/check.h"
#include "longspan/ops/orthogonal_memory/dispatch.h"

namespace longspan::ops::memory {
namespace {

at::Tensor empty_like(const at::Tensor& t) { return at::empty_symint(t.sym_sizes(), t.options()); }

at::Tensor forward(const at::Tensor& q, const at::Tensor& m, const at::Tensor& basis, std::string_view form,
                   double scale, const OptionalTensor& cu_seqlens, const OptionalTensor& cu_seqlens_source,
                   std::string_view backend) {
  choose_backend(kOp, backend, q);
  check<c10::SymInt>(q, m, basis, parse_form(form), cu_seqlens, cu_seqlens_source);
  return empty_rows_like(q);
}

Tensors3 backward(const at::Tensor& dout, const at::Tensor& q, const at::Tensor& m, const at::Tensor& basis,
                  std::string_view form, double scale, const OptionalTensor& cu_seqlens,
                  const OptionalTensor& cu_seqlens_source) {
  check<c10::SymInt>(q, m, basis, parse_form(form), cu_seqlens, cu_seqlens_source);
  check_dout(kOp, dout, q);
  return {empty_rows_like(q), empty_rows_like(m), empty_like(basis)};
}

Tensors4 extend(const at::Tensor& q, const at::Tensor& m, const at::Tensor& basis, const at::Tensor& closed,
                const at::Tensor& open, const at::Tensor& count, double scale, const OptionalTensor& cu_seqlens,
                std::string_view backend) {
  choose_backend(kExtend, backend, q);
  check_extend<c10::SymInt>(q, m, basis, closed, open, count, cu_seqlens);
  return {empty_rows_like(q), empty_like(closed), empty_like(open), empty_like(count)};
}

Tensors5 extend_backward(const OptionalTensor& dout, const OptionalTensor& dclosed_out, const OptionalTensor& dopen_out,
                         const at::Tensor& q, const at::Tensor& m, const at::Tensor& basis, const at::Tensor& closed,
                         const at::Tensor& open, const at::Tensor& count, double scale,
                         const OptionalTensor& cu_seqlens) {
  check_extend<c10::SymInt>(q, m, basis, closed, open, count, cu_seqlens);
  check_extend_gradients<c10::SymInt>(dout, dclosed_out, dopen_out, q, basis, cu_seqlens);
  return {empty_rows_like(q), empty_rows_like(m), empty_like(basis), empty_like(closed), empty_like(open)};
}

}  // namespace
}  // namespace longspan::ops::memory

TORCH_LIBRARY_IMPL(longspan, Meta, m) {
  m.impl("orthogonal_memory", TORCH_FN(longspan::ops::memory::forward));
  m.impl("orthogonal_memory_backward", TORCH_FN(longspan::ops::memory::backward));
  m.impl("orthogonal_memory_extend", TORCH_FN(longspan::ops::memory::extend));
  m.impl("orthogonal_memory_extend_backward", TORCH_FN(longspan::ops::memory::extend_backward));
}
