#include "tests/kernels/diffusion_case.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "longspan/testing/compare.h"
#include "tests/kernels/diffusion_bounds.h"

namespace longspan::testing {
namespace {

std::size_t at(int64_t index) { return static_cast<std::size_t>(index); }

template <class S>
std::vector<double> rows_of(const DiffusionTensor<S>& x, int64_t first, int64_t count, int64_t head) {
  std::vector<double> rows;
  for (int64_t r = first; r < first + count; ++r)
    for (int64_t c = 0; c < x.width; ++c)
      rows.push_back(static_cast<double>(static_cast<Computed<S>>(x.row(r, head)[c])));
  return rows;
}

// The last `count` rows of [tokens][width].
std::vector<double> last_rows(const std::vector<double>& x, int64_t count, int64_t width) {
  return {x.end() - count * width, x.end()};
}

template <class S>
void expect_within(const char* name, const std::vector<double>& got, const std::vector<double>& wanted, double bound) {
  ASSERT_EQ(got.size(), wanted.size()) << name;
  // bfloat16 rounds once, relative to the number: 8 bits of significand.
  if constexpr (std::is_same_v<S, BFloat16>) {
    double largest = 0;
    for (const double x : wanted) largest = std::max(largest, std::abs(x));
    bound += 0x1p-8 * (largest + bound);
  }
  const Comparison result = within(got.data(), wanted.data(), static_cast<int64_t>(got.size()), bound);
  EXPECT_TRUE(result) << name << ": " << result.message;
}

void add(std::vector<double>& to, const std::vector<double>& x) {
  to.resize(x.size(), 0.0);
  for (std::size_t i = 0; i < x.size(); ++i) to[i] += x[i];
}

}  // namespace

template <class S>
DiffusionTensor<S>::DiffusionTensor(int64_t rows_, int64_t heads_, int64_t width_, int64_t sequence_rows_)
    : rows(rows_), heads(heads_), width(width_), sequence_rows(sequence_rows_) {
  data.assign(at(rows * heads * width), static_cast<S>(std::numeric_limits<Computed<S>>::quiet_NaN()));
}
template <class S>
void DiffusionTensor<S>::fill_random(uint64_t seed, double gain) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (S& x : data) x = static_cast<S>(static_cast<Computed<S>>(gain * uniform(random)));
}

template <class S>
DiffusionCase<S>::DiffusionCase(const DiffusionShape& of) : shape(of) {
  starts_.push_back(0);
  for (int64_t s = 0; s < sequences(); ++s) starts_.push_back(starts_.back() + tokens(s));
  for (const patterns::Pattern& pattern : shape.patterns) {
    views_.push_back({pattern.view(), pattern.transposed()});
    if (shape.laid_out) layouts_.emplace_back(pattern.view(), pattern.transposed());
  }
  for (std::size_t i = 0; i < layouts_.size(); ++i) views_[i].layout = &layouts_[i];
  const int64_t total = starts_.back(), each = shape.packed || sequences() == 0 ? 0 : tokens(0);
  const int64_t fresh = total - sequences() * shape.first_row, each_fresh = each == 0 ? 0 : each - shape.first_row;
  q = DiffusionTensor<S>(fresh, shape.heads, shape.width, each_fresh);
  k = DiffusionTensor<S>(total, key_heads(), shape.width, each);
  v = DiffusionTensor<S>(fresh, key_heads(), shape.value_width, each_fresh);
  out = dout = DiffusionTensor<S>(fresh, shape.heads, shape.value_width, each_fresh);
  dq = q;
  dk = k;
  dv = v;
  lse = DiffusionTensor<T>(fresh, shape.heads, 1, each_fresh);
  q.fill_random(shape.seed, shape.gain);
  k.fill_random(shape.seed + 1);
  v.fill_random(shape.seed + 2);
  dout.fill_random(shape.seed + 3);
  const int64_t count = 2 * shape.hops + 1;
  for (int64_t i = 0; i < (shape.own_coefficients ? shape.heads : 1) * count; ++i)
    coefficients.push_back(static_cast<T>(i % count == 0 ? 1
                                          : i % 2 == 1   ? 0.9 - 0.1 * double(i / count)
                                                         : 0.1 + 0.02 * double(i)));
  dcoefficients.assign(coefficients.size(), T(0));
  states.assign(at(total * shape.heads * shape.hops * shape.value_width), std::numeric_limits<T>::quiet_NaN());
  dstates = states;
  std::mt19937_64 random(shape.seed + 4);
  std::uniform_real_distribution<double> uniform(-1, 1);
  dstates_out = states;
  for (T& x : dstates_out) x = static_cast<T>(uniform(random));
  for (T& x : states) x = static_cast<T>(uniform(random));
  int64_t weights = 0;
  for (int64_t s = 0; s < sequences(); ++s)
    weights += shape.heads * kernels::diffusion_weight_count(pattern(s).view(), shape.first_row);
  weights_ = AlignedBuffer<T>(weights);
  for (const bool there : shape.valid) valid_.push_back(there);
}

template <class S>
const patterns::Pattern& DiffusionCase<S>::pattern(int64_t s) const {
  return shape.patterns[at(shape.pattern_of[at(s)])];
}

template <class S>
int64_t DiffusionCase<S>::state(int64_t s, int64_t h, int64_t hop, int64_t i) const {
  const int64_t rows = shape.packed ? starts_.back() : tokens(s);
  const int64_t head = shape.packed ? h : s * shape.heads + h;
  return ((head * shape.hops + hop) * rows + (shape.packed ? key_row(s) : 0) + i) * shape.value_width;
}

template <class S>
void DiffusionCase<S>::set(kernels::DiffusionParams<S>& p) const {
  p.sequences = sequences();
  p.heads = shape.heads;
  p.key_heads = shape.key_heads;
  p.width = shape.width;
  p.value_width = shape.value_width;
  p.hops = shape.hops;
  p.rows = shape.packed ? Segments{starts_.data(), 0} : Segments{nullptr, sequences() > 0 ? tokens(0) : 0};
  p.first_row = shape.first_row;
  p.patterns = views_.data();
  p.pattern_of = shape.pattern_of.data();
  p.scale = 1 / std::sqrt(static_cast<double>(shape.width));
  p.coefficients = coefficients.data();
  p.coefficient_head_stride = shape.own_coefficients ? 2 * shape.hops + 1 : 0;
  p.valid = valid_.empty() ? nullptr : reinterpret_cast<const bool*>(valid_.data());
  p.invalid_score = shape.invalid_score;
  p.attention_dropout = {shape.attention_dropout, 77};
  p.hop_dropout = {shape.hop_dropout, 78};
  p.dropout_per_hop = shape.dropout_per_hop;
  p.dropout_origin = shape.dropout_origin.empty() ? nullptr : shape.dropout_origin.data();
  p.positions = shape.positions.empty() ? nullptr : shape.positions.data();
  p.edge_weights = shape.edge_weights;
  p.q = q.const_view();
  p.k = k.const_view();
  p.v = v.const_view();
}

template <class S>
void DiffusionCase<S>::forward(const Parallel& parallel) {
  kernels::DiffusionForward<S> p;
  set(p);
  p.out = out.view();
  p.lse = lse.view();
  if (shape.keep_weights) p.weights = weights_.data();
  p.states = states.data();
  kernels::diffusion_forward(p, parallel);
}

template <class S>
void DiffusionCase<S>::backward(const Parallel& parallel) {
  kernels::DiffusionBackward<S> p;
  set(p);
  p.backward = shape.backward;
  p.dout = dout.const_view();
  if (shape.keep_weights) p.weights = weights_.data();
  if (shape.first_row > 0 || shape.backward == kernels::DiffusionBackwardStates::store_all) p.states = states.data();
  p.dq = dq.view();
  p.dk = dk.view();
  p.dv = dv.view();
  p.dcoefficients = dcoefficients.data();
  if (shape.first_row > 0) {
    p.dstates_out = dstates_out.data();
    p.dstates = dstates.data();
  }
  kernels::diffusion_backward(p, parallel);
}

template <class S>
DiffusionReferenceProblem DiffusionCase<S>::reference(int64_t s, int64_t h) const {
  const int64_t n = tokens(s), first = shape.first_row, kv = h / (shape.heads / key_heads());
  kernels::DiffusionParams<S> params;
  set(params);
  DiffusionReferenceProblem p;
  p.tokens = n;
  p.first_row = first;
  p.width = shape.width;
  p.value_width = shape.value_width;
  p.hops = shape.hops;
  p.scale = params.scale;
  p.keys.resize(at(n));
  for (int64_t i = 0; i < n; ++i)
    for_each_run(pattern(s).view(), i, [&](PatternPiece, int64_t begin, int64_t end) {
      for (int64_t j = begin; j < end; ++j) p.keys[at(i)].push_back(j);
    });
  const auto padded = [&](std::vector<double> rows, int64_t width) {
    rows.insert(rows.begin(), at(first * width), 0.0);
    return rows;
  };
  p.q = padded(rows_of(q, row(s), n - first, h), shape.width);
  p.k = rows_of(k, key_row(s), n, kv);
  p.v = padded(rows_of(v, row(s), n - first, kv), shape.value_width);
  const int64_t count = 2 * shape.hops + 1, own = shape.own_coefficients ? h * count : 0;
  p.coefficients.assign(coefficients.begin() + own, coefficients.begin() + own + count);
  if (!shape.valid.empty()) p.valid.assign(shape.valid.begin() + key_row(s), shape.valid.begin() + key_row(s) + n);
  p.invalid_score = shape.invalid_score;
  p.attention_dropout = params.attention_dropout;
  p.hop_dropout = params.hop_dropout;
  p.dropout_per_hop = shape.dropout_per_hop;
  p.row = shape.dropout_origin.empty() ? s : shape.dropout_origin[at(2 * s)];
  p.start = shape.dropout_origin.empty() ? 0 : shape.dropout_origin[at(2 * s + 1)];
  p.head = h;
  p.positions = shape.positions;
  for (int64_t hop = 0; hop < shape.hops; ++hop)
    for (int64_t i = 0; i < n; ++i)
      for (int64_t c = 0; c < shape.value_width; ++c)
        p.states.push_back(static_cast<double>(states[at(state(s, h, hop, i) + c)]));
  return p;
}

template <class S>
void expect_matches_reference(const DiffusionShape& shape, const Parallel& parallel) {
  using T = Computed<S>;
  DiffusionCase<S> x(shape);
  x.forward(parallel);
  x.backward(parallel);
  const int64_t group = shape.heads / x.key_heads(), first = shape.first_row, dv = shape.value_width;
  std::vector<double> dcoefficients, dcoefficient_bound;
  for (int64_t s = 0; s < x.sequences(); ++s) {
    const int64_t n = x.tokens(s), fresh = n - first;
    std::vector<double> dk, dvalues;
    double dk_bound = 0, dv_bound = 0;
    for (int64_t h = 0; h < shape.heads; ++h) {
      SCOPED_TRACE(::testing::Message() << "sequence " << s << ", head " << h);
      const DiffusionReferenceProblem p = x.reference(s, h);
      const DiffusionReferenceForward forward = diffusion_reference_forward(p);
      std::vector<double> dout(at(first * dv), 0.0), dstates_out;
      add(dout, [&] {
        std::vector<double> rows(at(first * dv), 0.0), of = rows_of(x.dout, x.row(s), fresh, h);
        rows.insert(rows.end(), of.begin(), of.end());
        return rows;
      }());
      for (int64_t hop = 0; first > 0 && hop < shape.hops; ++hop)
        for (int64_t i = 0; i < n * dv; ++i)
          dstates_out.push_back(static_cast<double>(x.dstates_out[at(x.state(s, h, hop, 0) + i)]));
      const DiffusionReferenceBackward backward = diffusion_reference_backward(p, dout, dstates_out);
      const DiffusionBounds bounds = diffusion_bounds<T>(p, forward, dout, dstates_out);

      expect_within<S>("out", rows_of(x.out, x.row(s), fresh, h), last_rows(forward.states, fresh, dv), bounds.out);
      const std::vector<double> lse = rows_of(x.lse, x.row(s), fresh, h);
      for (int64_t i = 0; i < fresh; ++i) {
        const double wanted = forward.lse[at(first + i)];
        if (std::isinf(wanted))
          EXPECT_EQ(lse[at(i)], wanted) << "lse " << i;
        else
          EXPECT_NEAR(lse[at(i)], wanted, bounds.lse) << "lse " << i;
      }
      expect_within<S>("dq", rows_of(x.dq, x.row(s), fresh, h), last_rows(backward.dq, fresh, shape.width), bounds.dq);
      for (int64_t hop = 0; first > 0 && hop < shape.hops; ++hop)
        for (int64_t i = 0; i < first * dv; ++i)
          EXPECT_NEAR(static_cast<double>(x.dstates[at(x.state(s, h, hop, 0) + i)]),
                      backward.dstates[at(hop * n * dv + i)], bounds.dstates)
              << "dstates " << hop << " " << i;
      add(dk, backward.dk);
      add(dvalues, backward.dv);
      dk_bound += bounds.dk;
      dv_bound += bounds.dv;
      const std::size_t count = backward.dcoefficients.size(), own = shape.own_coefficients ? at(h) * count : 0;
      dcoefficients.resize(x.dcoefficients.size(), 0.0);
      dcoefficient_bound.resize(x.dcoefficients.size(), 0.0);
      for (std::size_t i = 0; i < count; ++i) {
        dcoefficients[own + i] += backward.dcoefficients[i];
        dcoefficient_bound[own + i] += bounds.dcoefficient;
      }
      if (h % group != group - 1) continue;
      expect_within<S>("dk", rows_of(x.dk, x.key_row(s), n, h / group), dk, dk_bound);
      expect_within<S>("dv", rows_of(x.dv, x.row(s), fresh, h / group), last_rows(dvalues, fresh, dv), dv_bound);
      dk.clear();
      dvalues.clear();
      dk_bound = dv_bound = 0;
    }
  }
  for (std::size_t i = 0; i < dcoefficients.size(); ++i)
    EXPECT_NEAR(static_cast<double>(x.dcoefficients[i]), dcoefficients[i], dcoefficient_bound[i])
        << "dcoefficient " << i;
}

template struct DiffusionTensor<float>;
template struct DiffusionTensor<double>;
template struct DiffusionTensor<BFloat16>;
template class DiffusionCase<float>;
template class DiffusionCase<double>;
template class DiffusionCase<BFloat16>;
template void expect_matches_reference<float>(const DiffusionShape&, const Parallel&);
template void expect_matches_reference<double>(const DiffusionShape&, const Parallel&);
template void expect_matches_reference<BFloat16>(const DiffusionShape&, const Parallel&);

}  // namespace longspan::testing
