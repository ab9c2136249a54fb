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

/// The memory that every query reads, [queries][slots], and how many sources it averages.
struct Memories {
  std::vector<double> h;
  std::vector<double> closed, open;
  int64_t visible(const MemoryCase& c, int64_t t) const { return c.causal ? c.count + t + 1 : c.sources; }
};

Memories memories(const MemoryCase& c) {
  Memories out;
  out.h.assign(c.queries * c.slots, 0.0);
  out.closed = or_zeros(c.closed, c.slots);
  out.open = or_zeros(c.open, c.slots);
  if (!c.causal) {
    for (int64_t t = 0; t < c.queries; ++t)
      for (int64_t i = 0; i < c.slots; ++i) {
        double sum = 0;
        for (int64_t j = 0; j < c.sources; ++j) sum += dot(&c.basis[i * c.width], &c.m[j * c.width], c.width);
        out.h[t * c.slots + i] = c.sources ? sum / static_cast<double>(c.sources) : 0.0;
      }
    return out;
  }
  for (int64_t t = 0; t < c.queries; ++t) {
    const int64_t count = c.count + t + 1;
    for (int64_t i = 0; i < c.slots; ++i) {
      out.open[i] += dot(&c.basis[i * c.width], &c.m[t * c.width], c.width);
      out.h[t * c.slots + i] = (out.closed[i] + out.open[i]) / static_cast<double>(count);
      if (count % kChunk == 0) {
        out.closed[i] += out.open[i];
        out.open[i] = 0;
      }
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

}  // namespace

MemoryResult memory_reference(const MemoryCase& c) {
  Memories memory = memories(c);
  MemoryResult result;
  result.out.assign(c.queries * c.width, 0.0);
  result.closed = memory.closed;
  result.open = memory.open;
  if (!c.causal && c.sources == 0) return result;
  for (int64_t t = 0; t < c.queries; ++t) {
    const double* h = &memory.h[t * c.slots];
    const std::vector<double> p = probabilities(c.scale, scores(c, t), h);
    for (int64_t i = 0; i < c.slots; ++i)
      for (int64_t j = 0; j < c.width; ++j) result.out[t * c.width + j] += p[i] * h[i] * c.basis[i * c.width + j];
  }
  return result;
}

MemoryGradient memory_reference_backward(const MemoryCase& c, const std::vector<double>& dout,
                                         const std::vector<double>& dclosed_out, const std::vector<double>& dopen_out) {
  const Memories memory = memories(c);
  const int64_t r = c.slots, d = c.width;
  const std::vector<double> dclosed = or_zeros(dclosed_out, r), dopen = or_zeros(dopen_out, r);
  MemoryGradient grad;
  grad.q.assign(c.queries * d, 0.0);
  grad.m.assign(c.sources * d, 0.0);
  grad.basis.assign(r * d, 0.0);
  grad.closed = dclosed;
  grad.open = dopen;

  // Gradient of the sum of z that query t reads.
  std::vector<double> dsum(c.queries * r, 0.0);
  for (int64_t t = 0; t < c.queries && (c.causal || c.sources > 0); ++t) {
    const double* h = &memory.h[t * r];
    const double* g = &dout[t * d];
    const std::vector<double> a = scores(c, t);
    const std::vector<double> p = probabilities(c.scale, a, h);
    std::vector<double> du(r), dp(r);
    double mean = 0;
    for (int64_t i = 0; i < r; ++i) {
      du[i] = dot(&c.basis[i * d], g, d);
      dp[i] = du[i] * h[i];
      mean += p[i] * dp[i];
    }
    for (int64_t i = 0; i < r; ++i) {
      const double ds = p[i] * (dp[i] - mean);
      const double da = c.scale * ds * h[i];
      const double dh = du[i] * p[i] + c.scale * ds * a[i];
      dsum[t * r + i] = dh / static_cast<double>(memory.visible(c, t));
      for (int64_t j = 0; j < d; ++j) {
        grad.q[t * d + j] += da * c.basis[i * d + j];
        grad.basis[i * d + j] += p[i] * h[i] * g[j] + da * c.q[t * d + j];
      }
    }
  }

  // A source feeds the queries that see it and, causal, the sums that leave the call.
  const int64_t end = c.count + c.queries;
  const auto leaves = [&](int64_t position, int64_t i) {
    return position / kChunk < end / kChunk ? dclosed[i] : dopen[i];
  };
  std::vector<double> dz(r, 0.0);
  if (!c.causal)
    for (int64_t t = 0; t < c.queries; ++t)
      for (int64_t i = 0; i < r; ++i) dz[i] += dsum[t * r + i];
  for (int64_t j = c.sources - 1; j >= 0; --j) {
    for (int64_t i = 0; i < r; ++i) {
      if (c.causal) dz[i] += dsum[j * r + i];
      const double total = dz[i] + (c.causal ? leaves(c.count + j, i) : 0.0);
      for (int64_t k = 0; k < d; ++k) {
        grad.m[j * d + k] += total * c.basis[i * d + k];
        grad.basis[i * d + k] += total * c.m[j * d + k];
      }
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
