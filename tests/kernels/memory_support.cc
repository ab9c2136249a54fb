#include "memory_support.h"

#include <gtest/gtest.h>

#include <type_traits>

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
Bounds error_bounds(const testing::MemoryCase& c, const std::vector<double>& dout, const std::vector<double>& dstate,
                    Accumulator accumulator) {
  using testing::sum_bound;
  const double u = testing::unit_roundoff<T>(), u64 = testing::unit_roundoff<double>();
  const double u32 = accumulator == Accumulator::float64 ? 0 : testing::unit_roundoff<float>();
  const double d = static_cast<double>(c.width), n = static_cast<double>(c.queries);
  const double scale = std::abs(c.scale), b = largest(c.basis);
  const double kept = c.dropout.scale();
  const double project = sum_bound<T>(c.width), over_slots = sum_bound<T>(c.slots);
  const double z = largest_product(c.basis, c.m, c.width), a = largest_product(c.basis, c.q, c.width);
  // At most sources + count/256 additions of numbers up to z. A float32 accumulator rounds z, too; with corrections an
  // addition only rounds the correction, which is at most one u32 of the total for each addition.
  const double carried = largest(c.closed) + largest(c.open);
  const double total = z * static_cast<double>(c.sources) + carried;
  const double additions = static_cast<double>(c.sources) + d + 8;
  const double u_sum = accumulator == Accumulator::float32               ? u32
                       : accumulator == Accumulator::float32_compensated ? additions * u32 * u32
                                                                         : u64;
  const double e_sum = static_cast<double>(c.sources) * (project + u32) * z + additions * u_sum * total;
  // h is a mean of z (and of the state's z), so no larger than the largest of them.
  const double before = static_cast<double>(std::max<int64_t>(c.count, 1));
  const double h = std::max(z + carried / before, largest(c.visible));
  const double e_h = (project + u32) * z + u * h + additions * (u_sum + u64) * h;
  const double e_a = project * a;
  const double s = scale * a * h;
  const double e_s = scale * (a * e_h + h * e_a) + 4 * u * s;
  // Relative error of p: exponent, maximum and their difference (times 2: numerator and sum), exp of 2 ulp, the sum.
  const double e_p = 2 * (e_s + 3 * u * s) + 8 * u + over_slots;
  const double e_weight = kept * (h * (e_p + 2 * u) + e_h);  // p o h, times p
  Bounds bounds;
  bounds.out = 2 * b * (e_weight + over_slots * kept * h);
  bounds.sums = 2 * e_sum;
  bounds.visible = 2 * e_h;
  if (dout.empty()) return bounds;

  const double g = kept * largest_product(c.basis, dout, c.width), e_du = (project + u) * g;
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
  for (int64_t t = 0; t < c.queries; ++t) {
    const int64_t seen = !c.causal ? c.sources : c.window == 0 ? c.count + t + 1 : (c.count + t) / c.window * c.window;
    weight += 1.0 / static_cast<double>(std::max<int64_t>(seen, 1));
  }
  const double state = largest(dstate) * static_cast<double>(dstate.empty() ? 0 : c.slots);
  const double dz = weight * dh + state;
  const double e_dz = weight * (e_dh + u * dh) + u * dz + (n + 8) * u64 * dz;
  bounds.m = 2 * b * (e_dz + (over_slots + 2 * u) * dz);
  bounds.state = 2 * ((weight + (c.window > 0 ? n : 0)) * e_dh + (n + 8) * u64 * (dz + n * dh));
  // dbasis: n rows of three products, at most 3 * 256 of them in one float sum; sum over j of dz_j is at most n dh, and
  // what leaves the call adds `state` per row.
  const double panel = testing::sum_bound<T>(3 * std::min<int64_t>(std::max<int64_t>(c.queries, 1), kMemoryChunk));
  const double x = largest(c.m), y = largest(dout), v = largest(c.q);
  const double rows = std::max(n, 1.0);
  const double all_dz = rows * (dh + state), e_all_dz = rows * (e_dh + 2 * u * (dh + state));
  bounds.basis =
      2 * (rows * (e_weight * y + e_da * v) + e_all_dz * x +
           (panel + (n + 8) * u64) * (rows * (kept * h * y + da * v) + all_dz * x) + u * (rows * kept * h * y));
  return bounds;
}

template <class S, class M>
void expect_matches_reference(Problem<S, M>& problem, const Parallel& parallel, bool gradients) {
  using T = Computed<S>;
  const Shape& shape = problem.shape();
  problem.forward(parallel);
  if (gradients) problem.backward(parallel);
  const int64_t size = shape.slots * shape.width;
  std::vector<double> basis(problem.basis.size(), 0.0), basis_bound(problem.basis.size(), 0.0);
  const auto check = [&](const char* name, const std::vector<double>& actual, const std::vector<double>& expected,
                         double bound) {
    ASSERT_EQ(actual.size(), expected.size()) << name;
    const auto result = testing::within(actual.data(), expected.data(), static_cast<int64_t>(actual.size()), bound);
    EXPECT_TRUE(result) << name << ": " << result.message;
  };
  // What is rounded to storage once more.
  const auto rounding = [](bool narrow, const std::vector<double>& x) { return narrow ? 0x1p-8 * largest(x) : 0.0; };
  const bool narrow = std::is_same_v<S, BFloat16>, narrow_m = std::is_same_v<M, BFloat16>;
  for (int64_t s = 0; s < problem.sequences(); ++s) {
    std::vector<double> dm, dm_bound(problem.features(), 0.0);
    for (int64_t h = 0; h < shape.heads; ++h) {
      SCOPED_TRACE(::testing::Message() << "sequence " << s << " head " << h << " rows " << problem.q.segments.size(s)
                                        << " slots " << shape.slots << " width " << shape.width << " count "
                                        << shape.count << " window " << shape.window);
      const testing::MemoryCase c = problem.reference_case(s, h);
      const testing::MemoryResult expected = testing::memory_reference(c);
      const std::vector<double> dout = problem.rows_of(problem.dout, s, h);
      std::vector<double> dclosed, dopen, dvisible;
      if (shape.causal) {
        dclosed = problem.state_row(problem.dclosed_out, s, h);
        dopen = problem.state_row(problem.dopen_out, s, h);
      }
      if (shape.window > 0) dvisible = problem.state_row(problem.dvisible_out, s, h);
      std::vector<double> dstate = dclosed;
      dstate.insert(dstate.end(), dopen.begin(), dopen.end());
      dstate.insert(dstate.end(), dvisible.begin(), dvisible.end());
      const Bounds bounds = error_bounds<T>(c, dout, dstate, shape.accumulator);
      check("out", problem.rows_of(problem.out, s, h), expected.out, bounds.out + rounding(narrow, expected.out));
      if (shape.causal) {
        check("closed_out", problem.state_row(problem.values(problem.closed_out), s, h), expected.closed, bounds.sums);
        check("open_out", problem.state_row(problem.values(problem.open_out), s, h), expected.open, bounds.sums);
        EXPECT_EQ(problem.count_out[s], shape.count + problem.q.segments.size(s));
      }
      if (shape.window > 0)
        check("visible_out", problem.state_row(problem.visible_out, s, h), expected.visible, bounds.visible);
      if (!gradients) continue;
      // The gradient does not know of an accumulator: its bounds are those of the float64 sums.
      const Bounds exact = error_bounds<T>(c, dout, dstate);
      const testing::MemoryGradient grad = testing::memory_reference_backward(c, dout, dclosed, dopen, dvisible);
      check("dq", problem.rows_of(problem.dq, s, h), grad.q, exact.q + rounding(narrow, grad.q));
      if (h % problem.group() == 0) dm.assign(grad.m.size(), 0.0);
      for (std::size_t i = 0; i < dm.size(); ++i) dm[i] += grad.m[i];
      dm_bound[h / problem.group()] += exact.m + testing::unit_roundoff<T>() * largest(dm);
      if ((h + 1) % problem.group() == 0)
        check("dm", problem.rows_of(problem.dm, s, h / problem.group()), dm,
              dm_bound[h / problem.group()] + rounding(narrow_m, dm));
      if (shape.causal) {
        check("dclosed", problem.state_row(problem.dclosed, s, h), grad.closed, exact.state);
        check("dopen", problem.state_row(problem.dopen, s, h), grad.open, exact.state);
      }
      if (shape.window > 0) check("dvisible", problem.state_row(problem.dvisible, s, h), grad.visible, exact.state);
      for (int64_t i = 0; i < size; ++i) {
        const int64_t at = (shape.shared_basis ? 0 : h * size) + i;
        basis[at] += grad.basis[i];
        basis_bound[at] += exact.basis;
      }
    }
  }
  if (gradients)
    check("dbasis", std::vector<double>(problem.dbasis.begin(), problem.dbasis.end()), basis, largest(basis_bound));
}

std::vector<float> running_means(const std::vector<float>& m, Accumulator accumulator) {
  const std::vector<float> q(m.size(), 0.5f);  // of no influence on a softmax over one slot
  std::vector<float> out(m.size());
  const float basis = 1;
  MemoryForward<float> p;
  p.sequences = p.heads = p.slots = p.width = 1;
  p.queries.rows = p.sources.rows = static_cast<int64_t>(m.size());
  p.q = {q.data(), 0, 0, 1};
  p.m = {m.data(), 0, 0, 1};
  p.basis = &basis;
  p.accumulator = accumulator;
  p.out = {out.data(), 0, 0, 1};
  memory_forward(p, SerialParallel());
  return out;
}

template Bounds error_bounds<float>(const testing::MemoryCase&, const std::vector<double>&, const std::vector<double>&,
                                    Accumulator);
template Bounds error_bounds<double>(const testing::MemoryCase&, const std::vector<double>&, const std::vector<double>&,
                                     Accumulator);
template void expect_matches_reference(Problem<float>&, const Parallel&, bool);
template void expect_matches_reference(Problem<double>&, const Parallel&, bool);
template void expect_matches_reference(Problem<BFloat16>&, const Parallel&, bool);
template void expect_matches_reference(Problem<BFloat16, float>&, const Parallel&, bool);

}  // namespace longspan::kernels::memory_test
