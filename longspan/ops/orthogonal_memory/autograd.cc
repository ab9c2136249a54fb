#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "longspan/ops/orthogonal_memory/check.h"
#include "longspan/ops/orthogonal_memory/dispatch.h"
#include "longspan/ops/orthogonal_memory/reference.h"

namespace longspan::ops::memory {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

[[noreturn]] void refuse_second_derivative(const char* op) {
  TORCH_CHECK_NOT_IMPLEMENTED(false, op, ": expected one derivative, got a second one; the backend reference has it");
}

class Read : public torch::autograd::Function<Read> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& q, const at::Tensor& m, const at::Tensor& basis,
                            const OptionalTensor& cu_seqlens, const OptionalTensor& cu_seqlens_source,
                            std::string_view form, double scale, std::string_view backend) {
    at::AutoDispatchBelowADInplaceOrView below;
    ctx->set_materialize_grads(false);
    ctx->save_for_backward({q, m, basis, cu_seqlens.value_or(at::Tensor()), cu_seqlens_source.value_or(at::Tensor())});
    ctx->saved_data["form"] = std::string(form);
    ctx->saved_data["scale"] = scale;
    return call_forward(q, m, basis, form, scale, cu_seqlens, cu_seqlens_source, backend);
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    variable_list result(8);
    if (!grads[0].defined()) return result;
    const variable_list saved = ctx->get_saved_variables();
    std::tie(result[0], result[1], result[2]) =
        call_backward(grads[0], saved[0], saved[1], saved[2], ctx->saved_data["form"].toStringRef(),
                      ctx->saved_data["scale"].toDouble(), optional(saved[3]), optional(saved[4]));
    return result;
  }
};

// The backward operators as nodes of their own, so that a second derivative is an error and not silently wrong.
class ReadBackward : public torch::autograd::Function<ReadBackward> {
 public:
  static variable_list forward(AutogradContext*, const at::Tensor& dout, const at::Tensor& q, const at::Tensor& m,
                               const at::Tensor& basis, const OptionalTensor& cu_seqlens,
                               const OptionalTensor& cu_seqlens_source, std::string_view form, double scale) {
    at::AutoDispatchBelowADInplaceOrView below;
    auto [dq, dm, dbasis] = call_backward(dout, q, m, basis, form, scale, cu_seqlens, cu_seqlens_source);
    return {dq, dm, dbasis};
  }
  static variable_list backward(AutogradContext*, const variable_list&) { refuse_second_derivative(kOp); }
};

class Extend : public torch::autograd::Function<Extend> {
 public:
  static variable_list forward(AutogradContext* ctx, const at::Tensor& q, const at::Tensor& m, const at::Tensor& basis,
                               const at::Tensor& closed, const at::Tensor& open, const at::Tensor& count,
                               const OptionalTensor& cu_seqlens, double scale, std::string_view backend) {
    at::AutoDispatchBelowADInplaceOrView below;
    auto [out, closed_out, open_out, count_out] =
        call_extend(q, m, basis, closed, open, count, scale, cu_seqlens, backend);
    ctx->set_materialize_grads(false);
    ctx->mark_non_differentiable({count_out});
    ctx->save_for_backward({q, m, basis, closed, open, count, cu_seqlens.value_or(at::Tensor())});
    ctx->saved_data["scale"] = scale;
    return {out, closed_out, open_out, count_out};
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    variable_list result(9);
    if (!grads[0].defined() && !grads[1].defined() && !grads[2].defined()) return result;
    const variable_list x = ctx->get_saved_variables();
    std::tie(result[0], result[1], result[2], result[3], result[4]) =
        call_extend_backward(optional(grads[0]), optional(grads[1]), optional(grads[2]), x[0], x[1], x[2], x[3], x[4],
                             x[5], ctx->saved_data["scale"].toDouble(), optional(x[6]));
    return result;
  }
};

class ExtendBackward : public torch::autograd::Function<ExtendBackward> {
 public:
  static variable_list forward(AutogradContext*, const OptionalTensor& dout, const OptionalTensor& dclosed_out,
                               const OptionalTensor& dopen_out, const at::Tensor& q, const at::Tensor& m,
                               const at::Tensor& basis, const at::Tensor& closed, const at::Tensor& open,
                               const at::Tensor& count, const OptionalTensor& cu_seqlens, double scale) {
    at::AutoDispatchBelowADInplaceOrView below;
    auto [dq, dm, dbasis, dclosed, dopen] =
        call_extend_backward(dout, dclosed_out, dopen_out, q, m, basis, closed, open, count, scale, cu_seqlens);
    return {dq, dm, dbasis, dclosed, dopen};
  }
  static variable_list backward(AutogradContext*, const variable_list&) { refuse_second_derivative(kExtend); }
};

at::Tensor forward(const at::Tensor& q, const at::Tensor& m, const at::Tensor& basis, std::string_view form,
                   double scale, const OptionalTensor& cu_seqlens, const OptionalTensor& cu_seqlens_source,
                   std::string_view backend) {
  // The composed form consists of differentiable operators.
  if (choose_backend(kOp, backend, q) == Backend::composed) {
    report_backend(kOp, backend, Backend::composed, q);
    return composed(q, m, basis, form, scale, cu_seqlens, cu_seqlens_source);
  }
  return Read::apply(q, m, basis, cu_seqlens, cu_seqlens_source, form, scale, backend);
}

Tensors3 backward(const at::Tensor& dout, const at::Tensor& q, const at::Tensor& m, const at::Tensor& basis,
                  std::string_view form, double scale, const OptionalTensor& cu_seqlens,
                  const OptionalTensor& cu_seqlens_source) {
  const auto r = ReadBackward::apply(dout, q, m, basis, cu_seqlens, cu_seqlens_source, form, scale);
  return {r[0], r[1], r[2]};
}

Tensors4 extend(const at::Tensor& q, const at::Tensor& m, const at::Tensor& basis, const at::Tensor& closed,
                const at::Tensor& open, const at::Tensor& count, double scale, const OptionalTensor& cu_seqlens,
                std::string_view backend) {
  if (choose_backend(kExtend, backend, q) == Backend::composed) {
    report_backend(kExtend, backend, Backend::composed, q);
    return composed_extend(q, m, basis, closed, open, count, scale, cu_seqlens);
  }
  const auto r = Extend::apply(q, m, basis, closed, open, count, cu_seqlens, scale, backend);
  return {r[0], r[1], r[2], r[3]};
}

Tensors5 extend_backward(const OptionalTensor& dout, const OptionalTensor& dclosed_out, const OptionalTensor& dopen_out,
                         const at::Tensor& q, const at::Tensor& m, const at::Tensor& basis, const at::Tensor& closed,
                         const at::Tensor& open, const at::Tensor& count, double scale,
                         const OptionalTensor& cu_seqlens) {
  const auto r =
      ExtendBackward::apply(dout, dclosed_out, dopen_out, q, m, basis, closed, open, count, cu_seqlens, scale);
  return {r[0], r[1], r[2], r[3], r[4]};
}

}  // namespace
}  // namespace longspan::ops::memory

TORCH_LIBRARY_IMPL(longspan, Autograd, m) {
  m.impl("orthogonal_memory", TORCH_FN(longspan::ops::memory::forward));
  m.impl("orthogonal_memory_backward", TORCH_FN(longspan::ops::memory::backward));
  m.impl("orthogonal_memory_extend", TORCH_FN(longspan::ops::memory::extend));
  m.impl("orthogonal_memory_extend_backward", TORCH_FN(longspan::ops::memory::extend_backward));
}
