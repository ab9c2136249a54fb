// Small things that the tests of nn share.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "longspan/base/check.h"
#include "longspan/nn/registry.h"
#include "longspan/testing/compare.h"

namespace longspan::nn {

inline constexpr AttentionSizes kSizes = {.width = 16, .heads = 2};

/// An option's value.
inline FieldValue number(int64_t value) { return value; }

inline at::TensorOptions float64() { return at::TensorOptions().dtype(at::kDouble); }

inline at::Tensor normal(at::IntArrayRef sizes, uint64_t seed) {
  torch::manual_seed(seed);
  return at::randn(sizes, float64());
}

/// A float64 module with reproducible weights.
inline AttentionPtr make(const std::string& name, Pattern pattern, const FieldValues& options = {},
                         AttentionSizes sizes = kSizes) {
  torch::manual_seed(5);
  AttentionPtr module = make_attention(name, pattern, sizes, options);
  module->to(torch::kDouble);
  module->after_step();
  module->eval();
  return module;
}

/// Options of a small LAVO, r = 4 and w = 3 where `options` does not say otherwise, or makes them idle.
inline FieldValues small_lavo(FieldValues options = {}) {
  const auto is = [&](const char* name, const char* value) {
    const auto found = options.find(name);
    return found != options.end() && found->second == FieldValue(std::string(value));
  };
  const bool windows = !is("combine", "global") || !is("memory_input", "raw") || is("memory_update", "window");
  if (!is("combine", "local")) options.insert({"r", int64_t{4}});
  if (windows) options.insert({"w", int64_t{3}});
  return options;
}

/// f(t, c) = sin(a t + b c + e), the inputs of the golden values, [rows, columns].
inline at::Tensor waves(int64_t rows, int64_t columns, double a, double b, double e) {
  return (at::arange(rows, float64()).unsqueeze(1) * a + at::arange(columns, float64()) * b + e).sin();
}

inline testing::Comparison close(const at::Tensor& actual, const at::Tensor& expected, double bound) {
  if (actual.sizes() != expected.sizes())
    return {false, str_cat("shapes differ: ", actual.sizes(), " and ", expected.sizes())};
  const at::Tensor a = actual.detach().to(at::kDouble).contiguous(), e = expected.detach().to(at::kDouble).contiguous();
  return testing::within(a.const_data_ptr<double>(), e.const_data_ptr<double>(), a.numel(), bound);
}

/// The layer's output on x from the "weights" and "values" that inspect() shows.
inline at::Tensor output_shown(Attention& module, const at::Tensor& x,
                               const std::optional<at::Tensor>& source = std::nullopt) {
  const auto shown = module.inspect(x, source);
  const auto parameters = module.named_parameters();
  const at::Tensor heads = at::matmul(shown.at("weights"), shown.at("values"));
  return at::matmul(heads.transpose(1, 2).flatten(2), parameters["out.weight"].t()) + parameters["out.bias"];
}

/// Largest row sum of |weight|, plus the largest |bias|: the norm by which a linear map may grow a row of absolute
/// values.
inline double growth(const Attention& module, const std::string& name) {
  const auto parameters = module.named_parameters();
  const at::Tensor* weight = parameters.find(name + ".weight");
  if (weight == nullptr) return 0;
  const at::Tensor* bias = parameters.find(name + ".bias");
  return weight->abs().sum(1).max().item<double>() + (bias ? bias->abs().max().item<double>() : 0.0);
}

/// Bound of the difference between two ways to compute one float64 layer over x with up to `keys` keys. Every sum
/// (projections of E terms, scores of D, mixes of `keys`, slots of at most D) errs by sum_bound of its length relative
/// to its absolute values; an error of a score enters probabilities twice.
inline double layer_bound(const Attention& module, const at::Tensor& x, int64_t keys) {
  const double width = static_cast<double>(module.sizes().head_width());
  const double size = std::max(1.0, x.nan_to_num(0, 0, 0).abs().max().item<double>());
  // Features come from values, keys, a projection of their own or the input.
  const double q = size * growth(module, "q"), k = size * growth(module, "k");
  const double v = std::max({size, size * growth(module, "v"), size * growth(module, "memory"), k});
  const double out = std::sqrt(width) * v * growth(module, "out");
  const int64_t length = 2 * module.sizes().width + 2 * module.sizes().head_width() + keys;
  const double terms =
      module.properties().float32_sums ? testing::sum_bound<float>(length) : testing::sum_bound<double>(length);
  return out * terms * (1 + 2 * width * q * (k + v));
}

/// Expects InputError with exactly this text.
template <class F>
void expect_input_error(F&& f, const std::string& text) {
  try {
    f();
    ADD_FAILURE() << "no error, expected: " << text;
  } catch (const InputError& error) {
    EXPECT_EQ(error.what(), text);
  }
}

}  // namespace longspan::nn
