// Local attention against golden values, and the reference against central differences.
#include <gtest/gtest.h>

#include <cmath>
#include <tuple>
#include <vector>

#include "longspan/testing/compare.h"
#include "longspan/testing/reference/local_reference.h"
#include "tests/kernels/local_case.h"

namespace longspan::testing {
namespace {

// Golden values of the specification, G2: F_local of a causal window of three.
TEST(LocalGolden, CausalWindow) {
  const auto f = [](double t, double c, double a, double b, double e) { return std::sin(a * t + b * c + e); };
  LocalShape shape = self_shape(6, 2, 0);
  shape.width = shape.value_width = 2;
  LocalCase<double> c(shape);
  for (int t = 0; t < 6; ++t)
    for (int x = 0; x < 2; ++x) {
      c.q.row(0, 0, t)[x] = f(t, x, 0.7, 1.3, 0.5);
      c.k.row(0, 0, t)[x] = f(t, x, 0.3, -0.8, 0.2);
      c.v.row(0, 0, t)[x] = f(t, x, 1.1, 0.6, -0.4);
    }
  c.table = {.05, -.1, .2};
  c.forward();
  const std::vector<double> golden = {-0.3894183423, 0.1986693308,  0.2777000446,  0.6923357707,
                                      0.5054287070,  0.6256752791,  0.5939196679,  0.4096138303,
                                      0.2307683026,  -0.1303786452, -0.4176031578, -0.5940714004};
  const std::vector<double> got = c.out.block(0, 0);
  const Comparison result = within(got.data(), golden.data(), 12, 0.5e-10 + 1e-14);  // ten printed digits
  EXPECT_TRUE(result) << result.message;
}

// The reference's gradients against central differences of its values.
TEST(LocalReference, GradientsAreThoseOfItsValues) {
  for (const auto& [queries, keys, dropout] : {std::tuple<int64_t, int64_t, double>{9, 9, 0}, {4, 9, 0}, {9, 9, 0.4}}) {
    LocalShape shape = self_shape(keys, 3, 2);
    shape.queries = {queries};
    shape.dropout = dropout;
    shape.width = 3;
    shape.value_width = 2;
    const LocalCase<double> c(shape);
    LocalReferenceProblem problem = c.reference(0, 0);
    const std::vector<double> dout = c.dout.block(0, 0);
    const LocalReferenceBackward gradients = local_reference_backward(problem, dout);
    const auto loss = [&] {
      const std::vector<double> out = local_reference_forward(problem).out;
      double sum = 0;
      for (std::size_t i = 0; i < out.size(); ++i) sum += out[i] * dout[i];
      return sum;
    };
    const auto expect = [&](const char* name, std::vector<double>& input, const std::vector<double>& gradient) {
      for (std::size_t i = 0; i < input.size(); ++i) {
        const double step = 1e-6, value = input[i];
        input[i] = value + step;
        const double above = loss();
        input[i] = value - step;
        const double below = loss();
        input[i] = value;
        EXPECT_NEAR(gradient[i], (above - below) / (2 * step), 1e-6 * std::max(1.0, std::abs(gradient[i])))
            << name << " " << i;
      }
    };
    expect("dq", problem.q, gradients.dq);
    expect("dk", problem.k, gradients.dk);
    expect("dv", problem.v, gradients.dv);
    expect("dtable", problem.table, gradients.dtable);
  }
}

}  // namespace
}  // namespace longspan::testing
