#include "memory_support.h"

#include <gtest/gtest.h>

namespace longspan::kernels::memory_test {
namespace {

double largest(const std::vector<double>& x) {
  double top = 0;
  for (const double v : x) top = std::max(top, std::abs(v));
  return top;
}

/// max over rows of a and b of sum |a| |b|.
double largest_product(const std::vector<double>& a, const std::vector<double>& b, int64_t width) {
  double top = 0;
  for (std::size_t i = 0; i < a.size(); i += width)
    for (std::size_t t = 0; t < b.size(); t += width) {
      double sum = 0;
      for (int64_t k = 0; k < width; ++k) sum += std::abs(a[i + k] * b[t + k]);
      top = std::max(top, sum);
    }
  return top;
}

}  // namespace

template <class T>
Bounds error_bounds(const testing::MemoryCase& c, const std::vector<double>& dout, const std::vector<double>& dsums) {
  using testing::sum_bound;
  const double u = testing::unit_roundoff<T>(), u64 = testing::unit_roundoff<double>();
  const double d = static_cast<double>(c.width), n = static_cast<double>(c.queries);
  const double scale = std::abs(c.scale), b = largest(c.basis);
  const double project = sum_bound<T>(c.width), over_slots = sum_bound<T>(c.slots);
  const double z = largest_product(c.basis, c.m, c.width), a = largest_product(c.basis, c.q, c.width);
  // Sums of float64: at most sources + count/256 additions of numbers up to z.
  const double carried = largest(c.closed) + largest(c.open);
  const double total = z * static_cast<double>(c.sources) + carried;
  const double additions = static_cast<double>(c.sources) + d + 8;
  const double e_sum = static_cast<double>(c.sources) * project * z + additions * u64 * total;
  // h is a mean of z (and of the state's z), so no larger than the largest of them.
  const double before = static_cast<double>(std::max<int64_t>(c.count, 1));
  const double h = z + carried / before;
  const double e_h = project * z + u * h + additions * u64 * h;
  const double e_a = project * a;
  const double s = scale * a * h;
  const double e_s = scale * (a * e_h + h * e_a) + 4 * u * s;
  // Relative error of p: exponent, maximum and their difference (times 2: numerator and sum), exp of 2 ulp, the sum.
  const double e_p = 2 * (e_s + 3 * u * s) + 8 * u + over_slots;
  const double e_weight = h * (e_p + u) + e_h;  // p o h, times p
  Bounds bounds;
  bounds.out = 2 * b * (e_weight + over_slots * h);
  bounds.sums = 2 * e_sum;
  if (dout.empty()) return bounds;

  const double g = largest_product(c.basis, dout, c.width), e_du = project * g;
  const double dp = g * h, e_dp = h * e_du + g * e_h + u * dp;
  const double e_mean = e_p * dp + e_dp + over_slots * dp;
  // ds, da and dh carry a factor p, whose sum over the slots is 1.
  const double ds = 2 * dp, e_ds = e_p * ds + e_dp + e_mean + 3 * u * ds;
  const double da = scale * ds * h, e_da = scale * (e_ds * h + ds * e_h) + 3 * u * da;
  const double dh = g + scale * ds * a;
  const double e_dh = e_du + g * e_p + scale * (e_ds * a + ds * e_a) + 4 * u * dh;
  bounds.q = 2 * b * (e_da + over_slots * da);
  // Weight of the dh in one source's dz: sum of 1 / count over its readers.
  double weight = 0;
  for (int64_t t = 0; t < c.queries; ++t)
    weight += 1.0 / static_cast<double>(c.causal ? c.count + t + 1 : std::max<int64_t>(c.sources, 1));
  const double state = largest(dsums) * static_cast<double>(dsums.empty() ? 0 : c.slots);
  const double dz = weight * dh + state;
  const double e_dz = weight * (e_dh + u * dh) + u * dz + (n + 8) * u64 * dz;
  bounds.m = 2 * b * (e_dz + (over_slots + 2 * u) * dz);
  bounds.state = 2 * (weight * e_dh + (n + 8) * u64 * dz);
  // dbasis: n rows of three products, at most 3 * 256 of them in one float sum; sum over j of dz_j is at most n dh, and
  // what leaves the call adds `state` per row.
  const double panel = testing::sum_bound<T>(3 * std::min<int64_t>(std::max<int64_t>(c.queries, 1), kMemoryChunk));
  const double x = largest(c.m), y = largest(dout), v = largest(c.q);
  const double rows = std::max(n, 1.0);
  const double all_dz = rows * (dh + state), e_all_dz = rows * (e_dh + 2 * u * (dh + state));
  bounds.basis = 2 * (rows * (e_weight * y + e_da * v) + e_all_dz * x +
                      (panel + (n + 8) * u64) * (rows * (h * y + da * v) + all_dz * x) + u * (rows * h * y));
  return bounds;
}

template <class T>
void expect_matches_reference(Problem<T>& problem, const Parallel& parallel, bool gradients) {
  const Shape& shape = problem.shape();
  problem.forward(parallel);
  if (gradients) problem.backward(parallel);
  const int64_t size = shape.slots * shape.width;
  std::vector<double> basis(problem.basis.size(), 0.0), basis_bound(problem.basis.size(), 0.0);
  const auto check = [&](const char* name, const auto& actual, const std::vector<double>& expected, double bound) {
    ASSERT_EQ(actual.size(), expected.size()) << name;
    const auto result = testing::within(actual.data(), expected.data(), static_cast<int64_t>(actual.size()), bound);
    EXPECT_TRUE(result) << name << ": " << result.message;
  };
  for (int64_t s = 0; s < problem.sequences(); ++s) {
    for (int64_t h = 0; h < shape.heads; ++h) {
      SCOPED_TRACE(::testing::Message() << "sequence " << s << " head " << h << " rows " << problem.q.segments.size(s)
                                        << " slots " << shape.slots << " width " << shape.width << " count "
                                        << shape.count);
      const testing::MemoryCase c = problem.reference_case(s, h);
      const testing::MemoryResult expected = testing::memory_reference(c);
      const std::vector<double> dout = problem.rows_of(problem.dout, s, h);
      std::vector<double> dclosed, dopen;
      if (shape.causal) {
        dclosed = problem.state_row(problem.dclosed_out, s, h);
        dopen = problem.state_row(problem.dopen_out, s, h);
      }
      std::vector<double> dsums = dclosed;
      dsums.insert(dsums.end(), dopen.begin(), dopen.end());
      const Bounds bounds = error_bounds<T>(c, dout, dsums);
      check("out", problem.rows(problem.out, s, h), expected.out, bounds.out);
      if (shape.causal) {
        check("closed_out", problem.state_row(problem.closed_out, s, h), expected.closed, bounds.sums);
        check("open_out", problem.state_row(problem.open_out, s, h), expected.open, bounds.sums);
        EXPECT_EQ(problem.count_out[s], shape.count + problem.q.segments.size(s));
      }
      if (!gradients) continue;
      const testing::MemoryGradient grad = testing::memory_reference_backward(c, dout, dclosed, dopen);
      check("dq", problem.rows(problem.dq, s, h), grad.q, bounds.q);
      check("dm", problem.rows(problem.dm, s, h), grad.m, bounds.m);
      if (shape.causal) {
        check("dclosed", problem.state_row(problem.dclosed, s, h), grad.closed, bounds.state);
        check("dopen", problem.state_row(problem.dopen, s, h), grad.open, bounds.state);
      }
      for (int64_t i = 0; i < size; ++i) {
        const int64_t at = (shape.shared_basis ? 0 : h * size) + i;
        basis[at] += grad.basis[i];
        basis_bound[at] += bounds.basis;
      }
    }
  }
  if (gradients) check("dbasis", problem.dbasis, basis, largest(basis_bound));
}

template Bounds error_bounds<float>(const testing::MemoryCase&, const std::vector<double>&, const std::vector<double>&);
template Bounds error_bounds<double>(const testing::MemoryCase&, const std::vector<double>&,
                                     const std::vector<double>&);
template void expect_matches_reference(Problem<float>&, const Parallel&, bool);
template void expect_matches_reference(Problem<double>&, const Parallel&, bool);

}  // namespace longspan::kernels::memory_test
