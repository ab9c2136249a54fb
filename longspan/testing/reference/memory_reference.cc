#include "longspan/testing/reference/memory_reference.h"

#include <algorithm>
#include <cmath>

namespace longspan::testing {
namespace {

constexpr int64_t kChunk = 256;

double dot(const double* a, const double* b, int64_t size) {
  double sum = 0;
  for (int64_t i = 0; i < size; ++i) sum += a[i] * b[i];
  return sum;
}

std::vector<double> or_zeros(const std::vector<double>& x, int64_t size) {
  return x.empty() ? std::vector<double>(size, 0.0) : x;
}

/// The mean that a query reads: of `count` positions, the last of which is row `rows` - 1 of this call (rows <= 0: all
/// came before it).
struct Reach {
  int64_t count, rows;
};
/// Of query t; t = c.queries is the one behind the call.
Reach reach(const MemoryCase& c, int64_t t) {
  if (!c.causal) return {c.sources, c.sources};
  const int64_t count = c.window == 0 ? c.count + t + 1 : (c.count + t) / c.window * c.window;
  return {count, count - c.count};
}

/// The memory that every query reads, [queries + 1][slots]: with a window the last one is the state's.
struct Memories {
  std::vector<double> h;
  std::vector<double> closed, open;
};

Memories memories(const MemoryCase& c) {
  const int64_t r = c.slots;
  Memories out;
  out.closed = or_zeros(c.closed, r);
  out.open = or_zeros(c.open, r);
  std::vector<double> sums((c.sources + 1) * r, 0.0);  // before every row
  for (int64_t i = 0; i < r && c.causal; ++i) sums[i] = out.closed[i] + out.open[i];
  for (int64_t j = 0; j < c.sources; ++j)
    for (int64_t i = 0; i < r; ++i) {
      const double z = dot(&c.basis[i * c.width], &c.m[j * c.width], c.width);
      sums[(j + 1) * r + i] = sums[j * r + i] + z;
      out.open[i] += z;
      if ((c.count + j + 1) % kChunk == 0) {
        out.closed[i] += out.open[i];
        out.open[i] = 0;
      }
    }
  const std::vector<double> visible = or_zeros(c.visible, r);
  for (int64_t t = 0; t <= c.queries; ++t) {
    const Reach seen = reach(c, t);
    for (int64_t i = 0; i < r; ++i) {
      if (c.causal && c.window == 0 && t == c.queries) continue;
      if (seen.rows > 0)
        out.h.push_back(sums[seen.rows * r + i] / static_cast<double>(seen.count));
      else
        out.h.push_back(c.causal ? visible[i] : 0.0);
    }
  }
  return out;
}

/// softmax(scale a o h).
std::vector<double> probabilities(double scale, const std::vector<double>& a, const double* h) {
  std::vector<double> p(a.size());
  double top = -INFINITY, sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) top = std::max(top, scale * a[i] * h[i]);
  for (std::size_t i = 0; i < a.size(); ++i) sum += p[i] = std::exp(scale * a[i] * h[i] - top);
  for (double& x : p) x /= sum;
  return p;
}

std::vector<double> scores(const MemoryCase& c, int64_t t) {
  std::vector<double> a(c.slots);
  for (int64_t i = 0; i < c.slots; ++i) a[i] = dot(&c.basis[i * c.width], &c.q[t * c.width], c.width);
  return a;
}

/// 0 or 1 / (1 - p) for every slot of query t.
std::vector<double> dropout_factors(const MemoryCase& c, int64_t t) {
  std::vector<double> factors(c.slots, 1.0);
  for (int64_t i = 0; i < c.slots && c.dropout.active(); ++i)
    factors[i] = c.dropout.keeps(c.sequence, c.head, c.count + t, i) ? c.dropout.scale() : 0.0;
  return factors;
}

}  // namespace

MemoryResult memory_reference(const MemoryCase& c) {
  const Memories memory = memories(c);
  MemoryResult result;
  result.out.assign(c.queries * c.width, 0.0);
  result.closed = memory.closed;
  result.open = memory.open;
  if (c.window > 0) result.visible.assign(memory.h.end() - c.slots, memory.h.end());
  if (!c.causal && c.sources == 0) return result;
  for (int64_t t = 0; t < c.queries; ++t) {
    const double* h = &memory.h[t * c.slots];
    const std::vector<double> p = probabilities(c.scale, scores(c, t), h), kept = dropout_factors(c, t);
    for (int64_t i = 0; i < c.slots; ++i)
      for (int64_t j = 0; j < c.width; ++j)
        result.out[t * c.width + j] += kept[i] * p[i] * h[i] * c.basis[i * c.width + j];
  }
  return result;
}

MemoryGradient memory_reference_backward(const MemoryCase& c, const std::vector<double>& dout,
                                         const std::vector<double>& dclosed_out, const std::vector<double>& dopen_out,
                                         const std::vector<double>& dvisible_out) {
  const Memories memory = memories(c);
  const int64_t r = c.slots, d = c.width;
  const std::vector<double> dclosed = or_zeros(dclosed_out, r), dopen = or_zeros(dopen_out, r);
  MemoryGradient grad;
  grad.q.assign(c.queries * d, 0.0);
  grad.m.assign(c.sources * d, 0.0);
  grad.basis.assign(r * d, 0.0);
  grad.visible.assign(r, 0.0);
  grad.closed = dclosed;
  grad.open = dopen;

  // asked [n]: gradient of the sum over the first n rows, from the queries that read it.
  std::vector<double> asked((c.sources + 1) * r, 0.0);
  const auto ask = [&](int64_t t, int64_t i, double dh) {
    const Reach seen = reach(c, t);
    if (seen.rows > 0)
      asked[seen.rows * r + i] += dh / static_cast<double>(seen.count);
    else
      grad.visible[i] += dh;
  };
  for (int64_t t = 0; t < c.queries && (c.causal || c.sources > 0); ++t) {
    const double* h = &memory.h[t * r];
    const double* g = &dout[t * d];
    const std::vector<double> a = scores(c, t), p = probabilities(c.scale, a, h), kept = dropout_factors(c, t);
    std::vector<double> du(r), dp(r);
    double mean = 0;
    for (int64_t i = 0; i < r; ++i) {
      du[i] = kept[i] * dot(&c.basis[i * d], g, d);
      dp[i] = du[i] * h[i];
      mean += p[i] * dp[i];
    }
    for (int64_t i = 0; i < r; ++i) {
      const double ds = p[i] * (dp[i] - mean);
      const double da = c.scale * ds * h[i];
      ask(t, i, du[i] * p[i] + c.scale * ds * a[i]);
      for (int64_t j = 0; j < d; ++j) {
        grad.q[t * d + j] += da * c.basis[i * d + j];
        grad.basis[i * d + j] += kept[i] * p[i] * h[i] * g[j] + da * c.q[t * d + j];
      }
    }
  }
  if (c.window > 0)
    for (int64_t i = 0; i < r && !dvisible_out.empty(); ++i) ask(c.queries, i, dvisible_out[i]);

  // A source feeds the queries that see it and, causal, the sums that leave the call.
  const int64_t end = c.count + c.queries;
  const auto leaves = [&](int64_t position, int64_t i) {
    return position / kChunk < end / kChunk ? dclosed[i] : dopen[i];
  };
  std::vector<double> dz(r, 0.0);
  for (int64_t j = c.sources - 1; j >= 0; --j)
    for (int64_t i = 0; i < r; ++i) {
      dz[i] += asked[(j + 1) * r + i];
      const double total = dz[i] + (c.causal ? leaves(c.count + j, i) : 0.0);
      for (int64_t k = 0; k < d; ++k) {
        grad.m[j * d + k] += total * c.basis[i * d + k];
        grad.basis[i * d + k] += total * c.m[j * d + k];
      }
    }
  if (c.causal)
    for (int64_t i = 0; i < r; ++i) {
      grad.closed[i] = dz[i] + dclosed[i];
      grad.open[i] = dz[i] + (c.queries ? leaves(c.count, i) : dopen[i]);
    }
  return grad;
}

}  // namespace longspan::testing
