// What the properties share: seeded modules and inputs, runs with gradients, comparisons.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "longspan/testing/properties/properties.h"

namespace longspan::testing {

/// A subject's module with inputs that fit it.
class Probe {
 public:
  Probe(const Subject& subject, const PropertyOptions& options);

  nn::Attention& module() { return *module_; }
  nn::Pattern pattern() const { return module_->pattern(); }
  bool cross() const { return nn::is_cross(pattern()); }
  bool causal() const { return pattern() == nn::Pattern::causal_self; }
  const PropertyOptions& options() const { return options_; }

  /// N(0, 1) tensors; the same sizes in the same order give the same values.
  at::Tensor random(at::IntArrayRef sizes);
  at::Tensor tokens() { return random({options_.batch, options_.length, module_->sizes().width}); }
  at::Tensor source();  ///< [batch, source_length, source width]
  int64_t source_width() const;

 private:
  PropertyOptions options_;
  at::ScalarType dtype_;
  at::Generator generator_;
  nn::AttentionPtr module_;
};

/// Outputs and the gradients of sum(weight o output).
struct Outcome {
  at::Tensor y, dx, dsource;
  std::map<std::string, at::Tensor> dparameters;
};

/// forward() and, with a `weight` of y's shape, backward(); leaves the module's gradients cleared.
Outcome run(Probe& probe, const at::Tensor& x, nn::AttentionInputs inputs, const at::Tensor& weight);

/// By how much more than one rounding each of x shows in outputs and gradients of a method that divides by norms, at
/// least 1: to first order, in float64, their largest change relative to their size (at least 1) when every number of x
/// changes by a random part of it. 1 for other methods, and for bfloat16, whose roundings are beyond first order.
double magnification(const Subject& subject, const PropertyOptions& options);

/// Bound for the difference of two evaluations in another order. Two projections sum E products each, scores sum D, the
/// rest is a fixed number of roundings of values that magnitude `scale` bounds; errors of scores pass through a
/// softmax, whose output moves by at most twice the score's error. The kernel sums over up to `length` keys are of
/// positive weights that sum to 1.
double equality_bound(const nn::Attention& attention, at::ScalarType dtype, int64_t length, double scale);

/// Collects failures of one property.
class Verdict {
 public:
  Verdict(std::string subject, std::string property);

  /// Equal bit for bit (NaN equals NaN).
  void same_bits(const std::string& what, const at::Tensor& actual, const at::Tensor& expected);
  /// Within equality_bound at the magnitude of `expected` (at least `floor`).
  void close(const std::string& what, const at::Tensor& actual, const at::Tensor& expected,
             const nn::Attention& attention, double floor = 1.0);
  void zero(const std::string& what, const at::Tensor& actual);
  void fail(const std::string& what);
  /// Bounds of close() are this many times wider from here on.
  void magnify(double factor) { magnification_ = factor; }
  void not_applicable() { result_.applicable = false; }

  /// Outcomes agree within the bound: output, input gradients where both have them, parameter gradients.
  void close(const std::string& what, const Outcome& actual, const Outcome& expected, const nn::Attention& attention);

  PropertyResult result() const { return result_; }

 private:
  PropertyResult result_;
  double magnification_ = 1;
};

// One file each.
void check_prefix(Probe& probe, Verdict& verdict);
void check_split(Probe& probe, Verdict& verdict);
void check_padding(Probe& probe, Verdict& verdict);
void check_isolation(Probe& probe, Verdict& verdict);
void check_layout(Probe& probe, Verdict& verdict);
void check_state(Probe& probe, Verdict& verdict);
void check_threads(Probe& probe, Verdict& verdict);

}  // namespace longspan::testing
