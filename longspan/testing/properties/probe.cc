#include "longspan/testing/properties/probe.h"

#include <ATen/CPUGeneratorImpl.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

namespace longspan::testing {
namespace {

/// Small enough for first order, large enough to be seen behind float64's rounding.
constexpr double kChange = 1e-8;

}  // namespace

Probe::Probe(const Subject& subject, const PropertyOptions& options)
    : options_(options), dtype_(subject.dtype), generator_(at::detail::createCPUGenerator(options.seed)) {
  torch::manual_seed(options.seed);
  module_ = subject.make();
  module_->to(dtype_);
  module_->eval();  // dropout is another random function in every call
  // Biases and tables that start at a special value would hide faults in the terms they multiply. The basis keeps its
  // orthogonal rows.
  at::NoGradGuard no_grad;
  for (auto& parameter : module_->named_parameters())
    if (parameter.key() != "basis") parameter.value().add_(random(parameter.value().sizes()), 0.1);
}

at::Tensor Probe::random(at::IntArrayRef sizes) {
  return at::randn(sizes, generator_, at::TensorOptions().dtype(dtype_));
}

int64_t Probe::source_width() const {
  const auto& sizes = module_->sizes();
  return sizes.source_width > 0 ? sizes.source_width : sizes.width;
}

at::Tensor Probe::source() { return random({options_.batch, options_.source_length, source_width()}); }

Outcome run(Probe& probe, const at::Tensor& x, nn::AttentionInputs inputs, const at::Tensor& weight) {
  auto& module = probe.module();
  module.zero_grad();
  const auto leaf = x.detach().requires_grad_();
  at::Tensor source;
  if (inputs.source) {
    source = inputs.source->detach().requires_grad_();
    inputs.source = source;
  }
  Outcome out;
  out.y = module.forward(leaf, inputs);
  if (out.y.numel() > 0) {
    out.y.backward(weight);
    out.dx = leaf.grad();
    if (source.defined()) out.dsource = source.grad();
    for (auto& parameter : module.named_parameters())
      if (parameter.value().grad().defined()) out.dparameters[parameter.key()] = parameter.value().grad().clone();
  } else {  // nothing depends on anything
    out.dx = at::zeros_like(x);
    if (source.defined()) out.dsource = at::zeros_like(source);
  }
  out.y = out.y.detach();
  module.zero_grad();
  return out;
}

double magnification(const Subject& subject, const PropertyOptions& options) {
  if (subject.dtype == at::kBFloat16) return 1;
  Probe probe(subject, options);
  if (!probe.module().properties().divides_by_norms) return 1;
  const at::Tensor x = probe.tokens().to(at::kDouble), weight = probe.random(x.sizes()).to(at::kDouble);
  nn::AttentionInputs inputs;
  if (probe.cross()) inputs.source = probe.source().to(at::kDouble);
  const auto changed = [&](const at::Tensor& t) { return t * (1 + probe.random(t.sizes()).to(at::kDouble) * kChange); };
  probe.module().to(at::kDouble);
  const Outcome before = run(probe, x, inputs, weight);
  nn::AttentionInputs other = inputs;
  if (probe.cross()) other.source = changed(*inputs.source);
  const Outcome after = run(probe, changed(x), other, weight);
  double most = 1;
  const auto compare = [&](const at::Tensor& a, const at::Tensor& b) {
    if (!a.defined() || !b.defined() || a.numel() == 0) return;
    const double size = std::max(1.0, a.abs().max().item<double>());
    most = std::max(most, (a - b).abs().max().item<double>() / (size * kChange));
  };
  compare(before.y, after.y);
  compare(before.dx, after.dx);
  compare(before.dsource, after.dsource);
  for (const auto& [name, gradient] : before.dparameters) compare(gradient, after.dparameters.at(name));
  return most;
}

double equality_bound(const nn::Attention& attention, at::ScalarType dtype, int64_t length, double scale) {
  const double head_width = static_cast<double>(attention.sizes().head_width());
  // Operands and results are rounded to bfloat16, sums are not: the errors of q and k meet in D products of a score.
  if (dtype == at::kBFloat16) return 2 * (2 * head_width + 16) * 0x1p-9 * scale;
  const double roundoff = dtype == at::kDouble && !attention.properties().float32_sums ? 0x1p-53 : 0x1p-24;
  const double width = static_cast<double>(attention.sizes().width);
  // Projections before and after (2 E), scores (2 D through the softmax), the weighted mean (grows like log n in
  // practice; its worst case n is bounded by the weights summing to 1), both sides of the comparison (2).
  const double terms = 2 * width + 2 * head_width + std::sqrt(static_cast<double>(length)) + 16;
  return 2 * terms * roundoff * scale;
}

Verdict::Verdict(std::string subject, std::string property) {
  result_.subject = std::move(subject);
  result_.property = std::move(property);
}

void Verdict::fail(const std::string& what) {
  result_.passed = false;
  result_.detail += (result_.detail.empty() ? "" : "; ") + what;
}

namespace {

std::string place(const at::Tensor& like, int64_t flat) {
  std::ostringstream out;
  out << '[';
  int64_t rest = like.numel();
  for (int64_t d = 0; d < like.dim(); ++d) {
    rest /= like.size(d);
    out << (d ? ", " : "") << flat / rest;
    flat %= rest;
  }
  out << ']';
  return out.str();
}

bool same_shape(Verdict& verdict, const std::string& what, const at::Tensor& actual, const at::Tensor& expected) {
  if (!actual.defined() || !expected.defined()) {
    if (actual.defined() != expected.defined()) verdict.fail(what + ": one side is undefined");
    return false;
  }
  if (actual.sizes() != expected.sizes()) {
    std::ostringstream out;
    out << what << ": shape " << actual.sizes() << ", expected " << expected.sizes();
    verdict.fail(out.str());
    return false;
  }
  return actual.numel() > 0;
}

}  // namespace

void Verdict::same_bits(const std::string& what, const at::Tensor& actual, const at::Tensor& expected) {
  if (!same_shape(*this, what, actual, expected)) return;
  const auto pattern = [](const at::Tensor& t) {  // integers: -0 is not +0; every NaN is one
    if (!t.is_floating_point()) return t;
    const auto canonical = t.masked_fill(t.isnan(), std::numeric_limits<double>::quiet_NaN()).contiguous();
    return canonical.view(t.element_size() == 8 ? at::kLong : t.element_size() == 4 ? at::kInt : at::kShort);
  };
  const auto differs = (pattern(actual) != pattern(expected)).flatten();
  if (!differs.any().item<bool>()) return;
  const int64_t first = differs.nonzero()[0].item<int64_t>();
  std::ostringstream out;
  out.precision(17);
  out << what << ": " << differs.sum().item<int64_t>() << " of " << differs.numel()
      << " differ in their bits, first at " << place(actual, first) << ": got "
      << actual.flatten()[first].item<double>() << ", expected " << expected.flatten()[first].item<double>();
  fail(out.str());
}

void Verdict::close(const std::string& what, const at::Tensor& actual, const at::Tensor& expected,
                    const nn::Attention& attention, double floor) {
  if (!same_shape(*this, what, actual, expected)) return;
  const double magnitude = std::max(floor, expected.abs().max().item<double>());
  const int64_t length = expected.dim() >= 2 ? expected.size(-2) : 1;
  const double bound = magnification_ * equality_bound(attention, expected.scalar_type(), length, magnitude);
  const auto error = (actual.to(at::kDouble) - expected.to(at::kDouble)).abs().flatten();
  const auto misses = (error <= bound).logical_not();  // NaN misses
  if (!misses.any().item<bool>()) return;
  const int64_t worst = error.nan_to_num(INFINITY, INFINITY).argmax().item<int64_t>();
  std::ostringstream out;
  out.precision(9);
  out << what << ": " << misses.sum().item<int64_t>() << " of " << error.numel() << " outside " << bound
      << ", worst at " << place(actual, worst) << ": got " << actual.flatten()[worst].item<double>() << ", expected "
      << expected.flatten()[worst].item<double>();
  fail(out.str());
}

void Verdict::zero(const std::string& what, const at::Tensor& actual) {
  if (!actual.defined() || actual.numel() == 0) return;
  if ((actual == 0).all().item<bool>()) return;
  fail(what + ": expected zeros");
}

void Verdict::close(const std::string& what, const Outcome& actual, const Outcome& expected,
                    const nn::Attention& attention) {
  close(what + ", output", actual.y, expected.y, attention);
  close(what + ", gradient of x", actual.dx, expected.dx, attention);
  close(what + ", gradient of source", actual.dsource, expected.dsource, attention);
  for (const auto& [name, gradient] : expected.dparameters) {
    const auto found = actual.dparameters.find(name);
    // A parameter's gradient is a sum over every token, each of which may be rounded on its own.
    const double tokens =
        static_cast<double>(std::max<int64_t>(expected.y.numel() / std::max<int64_t>(1, expected.y.size(-1)), 1));
    if (found == actual.dparameters.end()) {
      fail(what + ", gradient of " + name + ": missing");
    } else {
      close(what + ", gradient of " + name, found->second, gradient, attention, std::sqrt(tokens));
    }
  }
}

}  // namespace longspan::testing
