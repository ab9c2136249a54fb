// Random tensors, comparison of tensors, and sizes of operands, for the operator tests.
#pragma once

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <string>
#include <vector>

#include "longspan/testing/compare.h"

namespace longspan::ops {

/// Slack for the products of two error terms that first-order bounds leave out: relative terms are below 1e-2.
inline constexpr double kSecondOrder = 1.1;

inline at::Tensor randn(at::IntArrayRef sizes, at::ScalarType dtype = at::kDouble) {
  return at::randn(sizes, at::TensorOptions().dtype(dtype));
}

/// Copies that record gradients.
inline std::vector<at::Tensor> leaves(const std::vector<at::Tensor>& tensors, at::ScalarType dtype) {
  std::vector<at::Tensor> out;
  for (const auto& t : tensors) out.push_back(t.detach().to(dtype, false, /*copy=*/true).requires_grad_(true));
  return out;
}

/// The largest absolute value, and the largest Euclidean norm of a row; 0 for an empty tensor.
inline double max_abs(const at::Tensor& t) { return t.numel() ? t.detach().abs().max().item<double>() : 0; }
inline double max_norm(const at::Tensor& t) {
  return t.numel() ? t.detach().to(at::kDouble).square().sum(-1).max().sqrt().item<double>() : 0;
}

inline ::testing::AssertionResult near(const at::Tensor& actual, const at::Tensor& expected, double bound) {
  if (actual.sizes() != expected.sizes()) return ::testing::AssertionFailure() << "sizes differ";
  const at::Tensor a = actual.detach().contiguous(), e = expected.detach().to(at::kDouble).contiguous();
  const auto result = a.scalar_type() == at::kFloat
                          ? testing::within(a.const_data_ptr<float>(), e.const_data_ptr<double>(), a.numel(), bound)
                          : testing::within(a.const_data_ptr<double>(), e.const_data_ptr<double>(), a.numel(), bound);
  return result ? ::testing::AssertionSuccess() : ::testing::AssertionFailure() << result.message;
}

inline ::testing::AssertionResult same_bits(const at::Tensor& actual, const at::Tensor& expected) {
  if (actual.sizes() != expected.sizes()) return ::testing::AssertionFailure() << "sizes differ";
  if (actual.scalar_type() != expected.scalar_type()) return ::testing::AssertionFailure() << "dtypes differ";
  // Every bfloat16 is a float32.
  const auto dtype = actual.scalar_type() == at::kBFloat16 ? at::kFloat : actual.scalar_type();
  const at::Tensor a = actual.detach().to(dtype).contiguous(), e = expected.detach().to(dtype).contiguous();
  const auto result = a.scalar_type() == at::kFloat
                          ? testing::same_bits(a.const_data_ptr<float>(), e.const_data_ptr<float>(), a.numel())
                          : testing::same_bits(a.const_data_ptr<double>(), e.const_data_ptr<double>(), a.numel());
  return result ? ::testing::AssertionSuccess() : ::testing::AssertionFailure() << result.message;
}

inline double roundoff(at::ScalarType dtype) {
  return dtype == at::kFloat ? testing::unit_roundoff<float>() : testing::unit_roundoff<double>();
}
/// testing::sum_bound for a dtype known at run time.
inline double sum_bound(at::ScalarType dtype, int64_t terms) {
  return dtype == at::kFloat ? testing::sum_bound<float>(terms) : testing::sum_bound<double>(terms);
}

/// The text of the c10::ValueError that `f` throws, "" if it throws none.
template <class F>
std::string value_error(F&& f) {
  try {
    f();
  } catch (const c10::ValueError& e) {
    return e.what_without_backtrace();
  }
  return "";
}

/// Kernels and composed form in float32 and float64 against the reference in float64, which has an error of its own,
/// forward and every gradient. Operands has `tensors`, `dout` and run(tensors, backend); Bounds(operands, dtype) has
/// `out` and of(input).
template <class Bounds, class Operands>
void expect_equals_reference(const Operands& operands) {
  for (const auto dtype : {at::kFloat, at::kDouble}) {
    SCOPED_TRACE(c10::toString(dtype));
    Operands x = operands;
    // Rounded to the dtype first, so that all forms see the same numbers.
    for (auto& t : x.tensors) t = t.to(dtype).to(at::kDouble);
    x.dout = x.dout.to(dtype).to(at::kDouble);
    const auto exact_inputs = leaves(x.tensors, at::kDouble);
    const at::Tensor exact = x.run(exact_inputs, "reference");
    const auto exact_gradients = torch::autograd::grad({(exact * x.dout).sum()}, exact_inputs);
    const Bounds bounds(x, dtype), own(x, at::kDouble);
    for (const char* backend : {"kernel", "composed"}) {
      SCOPED_TRACE(backend);
      const auto inputs = leaves(x.tensors, dtype);
      const at::Tensor out = x.run(inputs, backend);
      EXPECT_TRUE(near(out, exact, bounds.out + own.out));
      const auto gradients = torch::autograd::grad({(out * x.dout.to(dtype)).sum()}, inputs);
      for (std::size_t i = 0; i < inputs.size(); ++i)
        EXPECT_TRUE(near(gradients[i], exact_gradients[i], bounds.of(i) + own.of(i))) << "gradient of input " << i;
    }
  }
}

}  // namespace longspan::ops
