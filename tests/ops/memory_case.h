// A call of orthogonal_memory on random operands, and bounds of its errors.
#pragma once

#include <ATen/ops/scalar_tensor.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <string>
#include <vector>

#include "longspan/ops/orthogonal_memory/orthogonal_memory.h"
#include "tests/ops/tensors.h"

namespace longspan::ops::memory_test {

inline constexpr const char* kAccumulators[] = {"float64", "float32_compensated", "float32"};

struct Shape {
  const char* form;
  int64_t batch, heads, queries, sources, width, slots, basis_heads;
  double scale;
  int64_t group = 1;  // heads that share one of m
  OrthogonalMemoryOptions options = {};
};

inline std::ostream& operator<<(std::ostream& out, const Shape& s) {
  return out << s.form << " B" << s.batch << " H" << s.heads << " N" << s.queries << " M" << s.sources << " D"
             << s.width << " R" << s.slots << " bases " << s.basis_heads << " scale " << s.scale << " group " << s.group
             << " window " << s.options.window << " dropout " << s.options.dropout << " " << s.options.accumulator;
}

// Rows of norm about 1: an orthogonal basis in all that the bounds use of it.
inline at::Tensor random_basis(int64_t heads, int64_t slots, int64_t width) {
  return randn({heads, slots, width}) / std::sqrt(static_cast<double>(width));
}

struct Operands {
  std::vector<at::Tensor> tensors;  // q, m, basis
  at::Tensor dout;
  Shape shape;

  explicit Operands(const Shape& s) : shape(s) {
    tensors = {randn({s.batch, s.heads, s.queries, s.width}), randn({s.batch, s.heads / s.group, s.sources, s.width}),
               random_basis(s.basis_heads, s.slots, s.width)};
    dout = randn({s.batch, s.heads, s.queries, s.width});
  }
  at::Tensor run(const std::vector<at::Tensor>& t, const char* backend) const {
    OrthogonalMemoryOptions options = shape.options;
    options.scale = shape.scale;
    options.backend = backend;
    if (options.dropout > 0) options.dropout_seed = at::scalar_tensor(77, at::kLong);
    return orthogonal_memory(t[0], t[1], t[2], shape.form, options);
  }
};

// First-order error bounds of forward and backward in `dtype`, sums in float64. Names as in
// docs/ops/orthogonal_memory.md; a letter is the largest magnitude of the quantity, e_ its error. p sums to 1 over the
// slots, so sums of p times something need no factor of R beyond the rounding of the sum.
struct Bounds {
  double out, dq, dm, dbasis;

  Bounds(const Operands& x, at::ScalarType dtype) {
    const Shape& s = x.shape;
    const double u = roundoff(dtype), c = std::abs(s.scale);
    const double q = max_norm(x.tensors[0]), m = max_norm(x.tensors[1]), b = max_norm(x.tensors[2]);
    const double kept = 1 / (1 - s.options.dropout), group = static_cast<double>(s.group);
    const double g = kept * max_norm(x.dout), width = sum_bound(dtype, s.width), slots = sum_bound(dtype, s.slots);
    // A mean of z is no longer than the longest z; its float64 sum and the cast add 2 u, a sum in float32 a rounding
    // for each term, in both forms.
    const bool coarse = s.options.accumulator != "float64";
    const double H = b * m, e_H = width * H + 2 * u * H + (coarse ? 2 * s.sources * roundoff(at::kFloat) * H : 0);
    const double A = b * q, e_A = width * A;
    const double e_S = c * (e_H * A + H * e_A + 3 * u * H * A);
    const double e_p = 2 * e_S + 4 * u + slots;  // relative, as in local attention
    const double e_U = e_p * H + e_H + u * H;    // of U = p o H, times p
    out = kSecondOrder * kept * b * (e_U + slots * H + u * H);
    const double dU = b * g, e_dU = width * dU;
    const double dP = dU * H, e_dP = e_dU * H + dU * e_H + u * dP;
    const double dS = 2 * dP, e_dS = 2 * e_dP + (3 * e_p + slots + 3 * u) * dS;  // times p
    const double dA = c * dS * H, e_dA = c * (e_dS * H + dS * e_H) + 3 * u * dA;
    dq = kSecondOrder * b * (e_dA + slots * dA);
    const double dH = dU + c * dS * A, e_dH = e_dU + e_p * dU + c * (e_dS * A + dS * e_A) + 4 * u * dH;
    // dz_j sums dH_t / N_t over its readers.
    double readers = 0;
    if (std::string(s.form) == "causal")
      for (int64_t t = 0; t < s.queries; ++t) {
        const int64_t seen = s.options.window > 0 ? t / s.options.window * s.options.window : t + 1;
        if (seen > 0) readers += 1.0 / static_cast<double>(seen);
      }
    else
      readers = static_cast<double>(s.queries) / static_cast<double>(std::max<int64_t>(s.sources, 1));
    const double dz = readers * dH, e_dz = readers * e_dH + 3 * u * dz;
    dm = kSecondOrder * group * b * (e_dz + (slots + group * u) * dz);
    const int64_t shared = s.batch * (s.basis_heads == 1 ? s.heads : 1);
    const int64_t rows = shared * s.queries, sources = shared * s.sources;
    dbasis = kSecondOrder *
             (rows * g * (e_U + sum_bound(dtype, rows) * H) + rows * q * (e_dA + sum_bound(dtype, rows) * dA) +
              sources * m * (e_dz + sum_bound(dtype, sources) * dz));
  }
  double of(std::size_t input) const { return std::vector<double>{dq, dm, dbasis}[input]; }
};

}  // namespace longspan::ops::memory_test
