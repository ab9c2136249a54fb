// What the definition of orthogonal memory promises, on the kernels; and the reference against golden values and
// central differences.
#include <gtest/gtest.h>

#include "memory_support.h"

namespace longspan::kernels::memory_test {
namespace {

using testing::memory_reference;
using testing::memory_reference_backward;
using testing::MemoryCase;

/// The kernel on a case of the reference.
std::vector<double> run(const MemoryCase& c) {
  MemoryForward<double> p;
  p.sequences = p.heads = 1;
  p.slots = c.slots, p.width = c.width, p.causal = c.causal, p.scale = c.scale;
  p.queries.rows = c.queries, p.sources.rows = c.sources;
  p.q = {c.q.data(), 0, 0, c.width};
  p.m = {c.m.data(), 0, 0, c.width};
  p.basis = c.basis.data();
  std::vector<double> out(c.queries * c.width, std::nan(""));
  p.out = {out.data(), 0, 0, c.width};
  memory_forward(p, SerialParallel());
  return out;
}

void expect_near(const std::vector<double>& actual, const std::vector<double>& expected, double bound) {
  ASSERT_EQ(actual.size(), expected.size());
  const auto result = testing::within(actual.data(), expected.data(), static_cast<int64_t>(actual.size()), bound);
  EXPECT_TRUE(result) << result.message;
}

MemoryCase golden_g1() {
  MemoryCase c;
  c.slots = 2, c.width = 3, c.queries = c.sources = 4;
  const double half = 1 / std::sqrt(2.0);
  c.basis = {half, half, 0, 0, 0, 1};
  for (int t = 0; t < 4; ++t)
    for (int j = 0; j < 3; ++j) {
      c.m.push_back(std::sin(0.7 * t + 1.3 * j + 0.5));
      c.q.push_back(std::cos(0.4 * t - 0.9 * j));
    }
  return c;
}

/// Random case with orthonormal basis rows.
MemoryCase orthonormal_case(int64_t n, int64_t slots, int64_t width, bool causal) {
  MemoryCase c;
  c.slots = slots, c.width = width, c.queries = c.sources = n, c.causal = causal;
  for (int64_t i = 0; i < slots; ++i) {
    std::vector<double> row(width);
    for (int64_t j = 0; j < width; ++j) row[j] = value(kBasis, 0, 0, i, j);
    for (int pass = 0; pass < 2; ++pass)  // twice is enough for orthogonality to rounding
      for (int64_t k = 0; k < i; ++k) {
        const double* other = &c.basis[k * width];
        const double along = std::inner_product(row.begin(), row.end(), other, 0.0);
        for (int64_t j = 0; j < width; ++j) row[j] -= along * other[j];
      }
    const double norm = std::sqrt(std::inner_product(row.begin(), row.end(), row.begin(), 0.0));
    for (const double x : row) c.basis.push_back(x / norm);
  }
  for (int64_t t = 0; t < n; ++t)
    for (int64_t j = 0; j < width; ++j) {
      c.q.push_back(value(kQ, 0, 0, t, j));
      c.m.push_back(value(kM, 0, 0, t, j));
    }
  return c;
}

double bound_of(const MemoryCase& c) { return error_bounds<double>(c, {}, {}).out; }

TEST(MemoryDefinition, GoldenValues) {
  const std::vector<double> causal = {0.5568519131,  0.5568519131,  0.0097156670, 0.5972171595,
                                      0.5972171595,  -0.0568517805, 0.5145788870, 0.5145788870,
                                      -0.1045057366, 0.3478932638,  0.3478932638, -0.1505471557};
  const std::vector<double> full = {0.2998159875,  0.2998159875,  -0.2137395738, 0.3320715020,
                                    0.3320715020,  -0.1713431630, 0.3478681963,  0.3478681963,
                                    -0.1505801043, 0.3478932638,  0.3478932638,  -0.1505471557};
  MemoryCase c = golden_g1();
  constexpr double kDigits = 1e-10;  // the values are given to ten places
  expect_near(run(c), causal, kDigits);
  expect_near(memory_reference(c).out, causal, kDigits);
  c.causal = false;
  expect_near(run(c), full, kDigits);
  expect_near(memory_reference(c).out, full, kDigits);
}

TEST(MemoryDefinition, ContextsOfOneMeanCollide) {
  MemoryCase c;
  c.slots = c.width = c.queries = 2, c.sources = 2;
  c.basis = {1, 0, 0, 1};
  c.q = {1, 0, 1, 0};
  c.causal = false;
  const std::vector<double> collided = {0.7310585786, 0.2689414214, 0.7310585786, 0.2689414214};
  for (const std::vector<double>& m : {std::vector<double>{2, 0, 0, 2}, std::vector<double>{1, 1, 1, 1}}) {
    c.m = m;
    expect_near(run(c), collided, 1e-10);
  }
  c.causal = true;
  c.m = {2, 0, 0, 2};
  expect_near(run(c), {1.7615941560, 0, 0.7310585786, 0.2689414214}, 1e-10);
}

TEST(MemoryDefinition, OrderMattersOnlyToTheCausalForm) {
  MemoryCase c = orthonormal_case(40, 5, 8, false);
  const std::vector<double> before = run(c);
  MemoryCase permuted = c;
  for (int64_t t = 0; t < 40; ++t) std::copy_n(&c.m[t * 8], 8, &permuted.m[(t * 17 + 3) % 40 * 8]);
  expect_near(run(permuted), before, 2 * bound_of(c));
  c.causal = permuted.causal = true;
  const std::vector<double> a = run(c), b = run(permuted);
  double difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference = std::max(difference, std::abs(a[i] - b[i]));
  EXPECT_GT(difference, 1e-3);
}

TEST(MemoryDefinition, AZeroQueryReadsTheMeanInTheRowSpace) {
  for (const int64_t slots : {3, 8}) {
    MemoryCase c = orthonormal_case(30, slots, 8, true);
    std::fill(c.q.begin(), c.q.end(), 0.0);
    std::vector<double> expected(30 * 8, 0.0), mean(8, 0.0);
    for (int64_t t = 0; t < 30; ++t) {
      for (int64_t j = 0; j < 8; ++j) mean[j] += c.m[t * 8 + j];
      for (int64_t i = 0; i < slots; ++i) {
        const double* row = &c.basis[i * 8];
        const double along = std::inner_product(mean.begin(), mean.end(), row, 0.0) / static_cast<double>(t + 1);
        for (int64_t j = 0; j < 8; ++j) expected[t * 8 + j] += along * row[j] / static_cast<double>(slots);
      }
    }
    expect_near(run(c), expected, 2 * bound_of(c));
  }
}

TEST(MemoryDefinition, SignsAndOrderOfBasisRowsDoNotMatter) {
  const MemoryCase c = orthonormal_case(50, 6, 9, true);
  MemoryCase changed = c;
  for (int64_t i = 0; i < 6; ++i)
    for (int64_t j = 0; j < 9; ++j) changed.basis[(i + 2) % 6 * 9 + j] = (i % 2 ? -1 : 1) * c.basis[i * 9 + j];
  expect_near(run(changed), run(c), 2 * bound_of(c));
}

TEST(MemoryDefinition, OutputsLieInTheRowSpace) {
  const MemoryCase c = orthonormal_case(50, 4, 9, true);
  std::vector<double> out = run(c);
  for (int64_t t = 0; t < 50; ++t)
    for (int64_t i = 0; i < 4; ++i) {
      const double along = std::inner_product(&out[t * 9], &out[t * 9] + 9, &c.basis[i * 9], 0.0);
      for (int64_t j = 0; j < 9; ++j) out[t * 9 + j] -= along * c.basis[i * 9 + j];
    }
  expect_near(out, std::vector<double>(out.size(), 0.0), 2 * bound_of(c));
}

// With one slot and one column the output is the mean itself: its only error is the rounding to float and that of the
// float64 sums, whatever the length.
TEST(MemoryDefinition, TheMeanDoesNotDriftOverAMillionSteps) {
  constexpr int64_t kSteps = 1 << 20;
  std::vector<float> m(kSteps);
  for (int64_t t = 0; t < kSteps; ++t) m[t] = static_cast<float>(1 + value(kM, 0, 0, t, 0));
  const std::vector<float> out = running_means(m, Accumulator::float64);
  const double u = testing::unit_roundoff<float>(), u64 = testing::unit_roundoff<double>();
  long double sum = 0, magnitude = 0;
  double worst = 0;  // error over bound
  for (int64_t t = 0; t < kSteps; ++t) {
    sum += m[t];
    magnitude += std::abs(m[t]);
    const double steps = static_cast<double>(t + 1);
    const double mean = static_cast<double>(sum) / steps;
    // A sum passes at most 256 additions in its chunk and one for each chunk.
    const double bound = u * std::abs(mean) + (steps / 256 + 260) * u64 * static_cast<double>(magnitude) / steps;
    worst = std::max(worst, std::abs(out[t] - mean) / bound);
  }
  EXPECT_LE(worst, 1.0);
}

/// The reference's gradient of every input against central differences of the reference.
void check_gradient(MemoryCase c) {
  const int64_t size = c.slots;
  std::vector<double> dout(c.queries * c.width), dclosed(size), dopen(size), dvisible;
  for (std::size_t i = 0; i < dout.size(); ++i) dout[i] = value(kDout, 0, 0, 0, static_cast<int64_t>(i));
  for (int64_t i = 0; i < size; ++i) dclosed[i] = value(kDclosed, 0, 0, 0, i), dopen[i] = value(kDopen, 0, 0, 0, i);
  for (int64_t i = 0; i < size && c.window > 0; ++i) dvisible.push_back(value(kDvisible, 0, 0, 0, i));
  double magnitude = 0;
  const auto loss = [&] {
    const auto result = memory_reference(c);
    double sum = 0;
    magnitude = 0;
    const auto add = [&](const std::vector<double>& x, const std::vector<double>& weight) {
      for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * weight[i], magnitude += std::abs(x[i] * weight[i]);
    };
    add(result.out, dout);
    if (c.causal) add(result.closed, dclosed), add(result.open, dopen);
    if (c.window > 0) add(result.visible, dvisible);
    return sum;
  };
  const auto grad =
      c.causal ? memory_reference_backward(c, dout, dclosed, dopen, dvisible) : memory_reference_backward(c, dout);
  const auto check = [&](const char* name, std::vector<double>& x, const std::vector<double>& expected) {
    ASSERT_EQ(x.size(), expected.size()) << name;
    // Cubic truncation h^2 f'''/6, with third derivatives of a few hundred at most here, and the rounding of the
    // losses.
    constexpr double kStep = 1e-5;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double kept = x[i];
      x[i] = kept + kStep;
      const double up = loss();
      x[i] = kept - kStep;
      const double down = loss();
      x[i] = kept;
      const double bound = 1e3 * kStep * kStep + 100 * testing::unit_roundoff<double>() * magnitude / kStep;
      EXPECT_NEAR((up - down) / (2 * kStep), expected[i], bound) << name << " " << i;
    }
  };
  check("q", c.q, grad.q);
  check("m", c.m, grad.m);
  check("basis", c.basis, grad.basis);
  if (c.causal) {
    check("closed", c.closed, grad.closed);
    check("open", c.open, grad.open);
  }
  if (c.window > 0) check("visible", c.visible, grad.visible);
}

TEST(MemoryReference, GradientsAgainstCentralDifferences) {
  for (const int64_t count : {0, 3, 250, 253, 600}) {
    MemoryCase c = orthonormal_case(6, 3, 4, true);
    c.scale = 1.3;
    c.count = count;
    for (int64_t i = 0; i < 3; ++i) {
      c.closed.push_back(static_cast<double>(count) * value(kClosed, 0, 0, 0, i));
      c.open.push_back(static_cast<double>(count % 256) * value(kOpen, 0, 0, 0, i));
      c.visible.push_back(value(kVisible, 0, 0, 0, i));
    }
    check_gradient(c);
    for (const int64_t window : {1, 2, 4, 9}) {
      c.window = window;
      check_gradient(c);
    }
    c.dropout = {0.4, 5};
    check_gradient(c);
  }
  MemoryCase full = orthonormal_case(5, 3, 4, false);
  full.sources = 3;
  full.m.resize(3 * 4);
  check_gradient(full);
}

}  // namespace
}  // namespace longspan::kernels::memory_test
