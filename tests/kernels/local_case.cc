#include "tests/kernels/local_case.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <sstream>
#include <type_traits>

#include "longspan/testing/compare.h"

namespace longspan::testing {
namespace {

std::vector<int64_t> starts_of(const std::vector<int64_t>& rows) {
  std::vector<int64_t> starts(1, 0);
  for (const int64_t count : rows) starts.push_back(starts.back() + count);
  return starts;
}

template <class T>
constexpr double roundoff() {
  if constexpr (std::is_same_v<T, BFloat16>)
    return 0x1p-8;  // 8 bits of significand
  else
    return unit_roundoff<T>();
}

// Each element is the rounding of a number within `bound` of what is wanted: rounding is monotone.
void expect_rounded_once(const char* name, const std::vector<BFloat16>& got, const std::vector<double>& wanted,
                         double bound) {
  for (std::size_t i = 0; i < got.size(); ++i) {
    // The ends are rounded to float32 first, outwards.
    const float low = std::nextafter(static_cast<float>(wanted[i] - bound), -INFINITY);
    const float high = std::nextafter(static_cast<float>(wanted[i] + bound), INFINITY);
    const float value = static_cast<float>(got[i]);
    EXPECT_TRUE(static_cast<float>(BFloat16(low)) <= value && value <= static_cast<float>(BFloat16(high)))
        << name << " " << i << ": got " << value << ", wanted " << wanted[i] << " within " << bound;
  }
}

double largest(const std::vector<double>& values) {
  double result = 0;
  for (const double value : values) result = std::max(result, std::abs(value));
  return result;
}

}  // namespace

std::string LocalShape::describe() const {
  std::ostringstream out;
  out << "queries";
  for (const int64_t count : queries) out << " " << count;
  out << ", keys";
  for (const int64_t count : keys) out << " " << count;
  out << ", heads " << heads << ", key heads " << key_heads << ", width " << width << ", value width " << value_width
      << ", reaches " << reach_left << " " << reach_right << ", table " << static_cast<int>(table) << " + "
      << table_margin << ", packed " << packed << ", heads inside " << heads_inside << ", padding " << padding
      << ", shift " << shift << ", seed " << seed << ", dropout " << dropout;
  return out.str();
}

LocalShape self_shape(int64_t length, int64_t reach_left, int64_t reach_right) {
  LocalShape shape;
  shape.queries = shape.keys = {length};
  shape.reach_left = reach_left;
  shape.reach_right = reach_right;
  return shape;
}

template <class T>
LocalTensor<T>::LocalTensor(const LocalShape& shape, int64_t heads, const std::vector<int64_t>& rows, int64_t width)
    : packed_(shape.packed), rows_(rows), starts_(starts_of(rows)), heads_(heads), width_(width), shift_(shape.shift) {
  const int64_t axis = packed_ ? starts_.back() : (rows.empty() ? 0 : rows[0]);
  const int64_t row = width + shape.padding;
  row_stride_ = shape.heads_inside ? heads_ * row : row;
  head_stride_ = shape.heads_inside ? row : axis * row;
  sequence_stride_ = axis * heads_ * row;
  const int64_t sequences = packed_ ? 1 : static_cast<int64_t>(rows.size());
  memory_.assign(static_cast<std::size_t>(sequences * sequence_stride_ + shift_),
                 static_cast<T>(std::numeric_limits<Computed<T>>::quiet_NaN()));
}

template <class T>
RowsView<T> LocalTensor<T>::view() {
  return {memory_.data() + shift_, sequence_stride_, head_stride_, row_stride_};
}
template <class T>
RowsView<const T> LocalTensor<T>::const_view() const {
  return {memory_.data() + shift_, sequence_stride_, head_stride_, row_stride_};
}
template <class T>
const T* LocalTensor<T>::row(int64_t s, int64_t h, int64_t i) const {
  return packed_ ? const_view().row(0, h, starts_[static_cast<std::size_t>(s)] + i) : const_view().row(s, h, i);
}
template <class T>
T* LocalTensor<T>::row(int64_t s, int64_t h, int64_t i) {
  return const_cast<T*>(static_cast<const LocalTensor&>(*this).row(s, h, i));
}
template <class T>
std::vector<T> LocalTensor<T>::block(int64_t s, int64_t h) const {
  std::vector<T> out;
  for (int64_t i = 0; i < rows_[static_cast<std::size_t>(s)]; ++i)
    out.insert(out.end(), row(s, h, i), row(s, h, i) + width_);
  return out;
}
template <class T>
std::vector<double> LocalTensor<T>::block_double(int64_t s, int64_t h) const {
  std::vector<double> values;
  for (const T value : block(s, h)) values.push_back(static_cast<double>(static_cast<Computed<T>>(value)));
  return values;
}

// Values depend on (seed, sequence, head, row, column) alone: shapes that differ in layout hold the same numbers.
template <class T>
void LocalTensor<T>::fill_random(uint64_t seed) {
  for (std::size_t s = 0; s < rows_.size(); ++s)
    for (int64_t h = 0; h < heads_; ++h) {
      std::mt19937_64 random(seed * 1000003 + s * 1009 + static_cast<uint64_t>(h));
      for (int64_t i = 0; i < rows_[s]; ++i)
        for (int64_t c = 0; c < width_; ++c)
          row(static_cast<int64_t>(s), h, i)[c] =
              static_cast<T>(static_cast<Computed<T>>(static_cast<double>(random() >> 11) * 0x1p-52 - 1.0));
    }
}

template <class T>
bool LocalTensor<T>::gaps_untouched() const {
  std::vector<bool> used(memory_.size(), false);
  for (std::size_t s = 0; s < rows_.size(); ++s)
    for (int64_t h = 0; h < heads_; ++h)
      for (int64_t i = 0; i < rows_[s]; ++i) {
        const auto at = row(static_cast<int64_t>(s), h, i) - memory_.data();
        std::fill_n(used.begin() + at, width_, true);
      }
  for (std::size_t i = 0; i < memory_.size(); ++i)
    if (!used[i] && !std::isnan(static_cast<Computed<T>>(memory_[i]))) return false;
  return true;
}

template <class S, class O>
LocalCase<S, O>::LocalCase(const LocalShape& s)
    : shape(s),
      query_starts(starts_of(s.queries)),
      key_starts(starts_of(s.keys)),
      scale(1 / std::sqrt(static_cast<double>(s.width))),
      q(s, s.heads, s.queries, s.width),
      k(s, key_heads(), s.keys, s.width),
      v(s, key_heads(), s.keys, s.value_width),
      dout(s, s.heads, s.queries, s.value_width),
      out(s, s.heads, s.queries, s.value_width),
      lse(s, s.heads, s.queries, 1),
      dq(s, s.heads, s.queries, s.width),
      dk(s, key_heads(), s.keys, s.width),
      dv(s, key_heads(), s.keys, s.value_width) {
  q.fill_random(s.seed * 16 + 1);
  k.fill_random(s.seed * 16 + 2);
  v.fill_random(s.seed * 16 + 3);
  dout.fill_random(s.seed * 16 + 4);
  if (s.table == TableKind::none) return;
  table_size = s.reach_left + s.reach_right + 1 + 2 * s.table_margin;
  table_centre = s.reach_left + s.table_margin;
  const int64_t heads = s.table == TableKind::shared ? 1 : s.heads;
  std::mt19937_64 random(s.seed * 16 + 5);
  for (int64_t i = 0; i < heads * table_size; ++i)
    table.push_back(static_cast<T>(static_cast<double>(random() >> 11) * 0x1p-52 - 1.0));
  dtable.assign(table.size(), std::numeric_limits<T>::quiet_NaN());
}

template <class S, class O>
void LocalCase<S, O>::set_params(kernels::LocalParams<S>& p) const {
  p.sequences = static_cast<int64_t>(shape.keys.size());
  p.heads = shape.heads;
  p.key_heads = shape.key_heads;
  p.dropout = {shape.dropout, shape.seed};
  if (!shape.dropout_origin.empty()) p.dropout_origin = shape.dropout_origin.data();
  p.width = shape.width;
  p.value_width = shape.value_width;
  if (shape.packed) {
    p.queries.starts = query_starts.data();
    p.keys.starts = key_starts.data();
  } else {
    p.queries.rows = shape.queries.empty() ? 0 : shape.queries[0];
    p.keys.rows = shape.keys.empty() ? 0 : shape.keys[0];
  }
  p.reach_left = shape.reach_left;
  p.reach_right = shape.reach_right;
  p.scale = scale;
  p.q = q.const_view();
  p.k = k.const_view();
  p.v = v.const_view();
  p.table = table.empty() ? nullptr : table.data();
  p.table_centre = table_centre;
  p.table_head_stride = shape.table == TableKind::per_head ? table_size : 0;
}

template <class S, class O>
void LocalCase<S, O>::forward(const Parallel& parallel) {
  kernels::LocalForward<S, O> params;
  set_params(params);
  params.out = out.view();
  params.lse = lse.view();
  kernels::local_forward(params, parallel);
}

template <class S, class O>
void LocalCase<S, O>::backward(const Parallel& parallel) {
  kernels::LocalBackward<S, O> params;
  set_params(params);
  params.out = out.const_view();
  params.lse = lse.const_view();
  params.dout = dout.const_view();
  params.dq = dq.view();
  params.dk = dk.view();
  params.dv = dv.view();
  params.dtable = dtable.empty() ? nullptr : dtable.data();
  params.table_heads = shape.table == TableKind::shared ? 1 : shape.heads;
  params.table_size = table_size;
  kernels::local_backward(params, parallel);
}

template <class S, class O>
LocalReferenceProblem LocalCase<S, O>::reference(int64_t s, int64_t h) const {
  LocalReferenceProblem p;
  p.queries = shape.queries[static_cast<std::size_t>(s)];
  p.keys = shape.keys[static_cast<std::size_t>(s)];
  p.width = shape.width;
  p.value_width = shape.value_width;
  p.reach_left = shape.reach_left;
  p.reach_right = shape.reach_right;
  p.scale = scale;
  p.q = q.block_double(s, h);
  const int64_t key_head = h / (shape.heads / key_heads());
  p.k = k.block_double(s, key_head);
  p.v = v.block_double(s, key_head);
  const int64_t first = shape.table == TableKind::shared ? 0 : h * table_size;
  if (!table.empty()) p.table.assign(table.begin() + first, table.begin() + first + table_size);
  p.table_centre = table_centre;
  p.dropout = {shape.dropout, shape.seed};
  p.row = shape.dropout_origin.empty() ? s : shape.dropout_origin[static_cast<std::size_t>(2 * s)];
  p.start = shape.dropout_origin.empty() ? 0 : shape.dropout_origin[static_cast<std::size_t>(2 * s + 1)];
  p.head = h;
  return p;
}

// Bounds. u is the unit roundoff, W the keys of a row, S the largest sum of absolute products of a score (scaled, with
// its table entry). Exponents are taken in base 2; folding log2(e) into scale and table costs one rounding each.
//   score     |da| <= (D + 4) u S, and 3 u S more for scale, table and the fused sum
//   weight    relative da of its own score, da of the maximum, 3 u of the exponential; the sum over W keys adds the
//             same plus W u, the division 2 u: dp = 4 da + (W + 8) u
//   out       max|v| (dp + (W + 4) u)
//   lse       da + (W + 8) u + 4 u |lse|
//   p again   relative error from lse: dp' = da + d lse + 4 u (|lse| + S)
//   dp        (Dv + 4) u G with G = Dv max|dout| max|v|; delta the same plus Dv max|dout| d out
//   row sum of |d ds|:  E = 2 G dp' + both + 4 u 2 G
//   dq        scale max|k| (E + (W + 4) u 2 G);  dk the same with max|q| times the number of queries that see the key
//   dv        queries max|dout| (dp' + (queries + 4) u);  dtable  queries (E + queries u 2 G)
// Dropout multiplies the kept weights by f, which has two roundings: values in out, dp and weights in dv are larger by
// f. A rounding of `out` to its storage type reaches delta. The gradients of a key are one chain over the heads of its
// group.
template <class T>
LocalBounds local_bounds(const LocalReferenceProblem& p, const std::vector<double>& dout, double out_roundoff,
                         int64_t group) {
  const double u = unit_roundoff<T>();
  const int64_t window = std::min(p.reach_left + p.reach_right + 1, p.keys);
  const double score = p.scale * static_cast<double>(p.width) * largest(p.q) * largest(p.k) + largest(p.table);
  const double dscore = (sum_bound<T>(p.width) + 3 * u) * score;
  const double f = 1 / (1 - p.dropout.probability), value = f * largest(p.v);
  const double weight = 4 * dscore + sum_bound<T>(window + 4) + (p.dropout.active() ? 2 * u : 0);
  const double lse = score + std::log(static_cast<double>(std::max<int64_t>(window, 1)));
  LocalBounds b{};
  b.out = value * (weight + sum_bound<T>(window));
  b.lse = dscore + sum_bound<T>(window + 4) + 4 * u * lse;
  const double again = dscore + b.lse + 4 * u * (lse + score) + (p.dropout.active() ? 2 * u : 0);
  const double products = static_cast<double>(p.value_width) * largest(dout) * value;
  const double row = 2 * products * again + 2 * sum_bound<T>(p.value_width) * products +
                     static_cast<double>(p.value_width) * largest(dout) * (b.out + out_roundoff * (value + b.out)) +
                     8 * u * products;
  const double seers = static_cast<double>(std::min(window, p.queries));
  b.dq = p.scale * largest(p.k) * (row + sum_bound<T>(window) * 2 * products);
  b.dk = p.scale * largest(p.q) * seers * (row + sum_bound<T>(group * window) * 2 * products);
  b.dv = seers * f * largest(dout) * (again + sum_bound<T>(group * window));
  b.dtable = static_cast<double>(p.queries) * (row + sum_bound<T>(p.queries) * 2 * products);
  return b;
}

template <class S, class O>
void expect_matches_reference(const LocalShape& shape, bool backward) {
  using T = Computed<S>;
  SCOPED_TRACE(shape.describe());
  LocalCase<S, O> c(shape);
  c.forward();
  if (backward) c.backward();
  const auto expect = []<class U>(const char* name, const std::vector<U>& got, const std::vector<double>& wanted,
                                  double bound) {
    ASSERT_EQ(got.size(), wanted.size()) << name;
    if constexpr (std::is_same_v<U, BFloat16>) {
      expect_rounded_once(name, got, wanted, bound);
    } else {
      const Comparison result = within(got.data(), wanted.data(), static_cast<int64_t>(got.size()), bound);
      EXPECT_TRUE(result) << name << ": " << result.message;
    }
  };
  std::vector<double> dtable(c.table.size(), 0.0);
  double dtable_bound = 0;
  const int64_t group = shape.heads / c.key_heads();
  for (std::size_t s = 0; s < shape.keys.size(); ++s)
    for (int64_t key_head = 0; key_head < c.key_heads(); ++key_head) {
      const int64_t si = static_cast<int64_t>(s);
      // Of the keys, summed over the group.
      std::vector<double> dk(static_cast<std::size_t>(shape.keys[s] * shape.width), 0.0);
      std::vector<double> dv(static_cast<std::size_t>(shape.keys[s] * shape.value_width), 0.0);
      double dk_bound = 0, dv_bound = 0;
      for (int64_t h = key_head * group; h < (key_head + 1) * group; ++h) {
        SCOPED_TRACE(::testing::Message() << "sequence " << s << " head " << h);
        const LocalReferenceProblem problem = c.reference(si, h);
        const std::vector<double> dout = c.dout.block_double(si, h);
        const LocalBounds bounds = local_bounds<T>(problem, dout, std::is_same_v<O, T> ? 0.0 : roundoff<O>(), group);
        const LocalReferenceForward forward = local_reference_forward(problem);
        expect("out", c.out.block(si, h), forward.out, bounds.out);
        expect("lse", c.lse.block(si, h), forward.lse, bounds.lse);
        if (!backward) continue;
        const LocalReferenceBackward gradients = local_reference_backward(problem, dout);
        expect("dq", c.dq.block(si, h), gradients.dq, bounds.dq);
        for (std::size_t i = 0; i < dk.size(); ++i) dk[i] += gradients.dk[i];
        for (std::size_t i = 0; i < dv.size(); ++i) dv[i] += gradients.dv[i];
        dk_bound += bounds.dk;
        dv_bound += bounds.dv;
        const int64_t first = shape.table == TableKind::shared ? 0 : h * c.table_size;
        for (std::size_t i = 0; i < gradients.dtable.size(); ++i)
          dtable[static_cast<std::size_t>(first) + i] += gradients.dtable[i];
        dtable_bound += bounds.dtable;
      }
      if (!backward) continue;
      SCOPED_TRACE(::testing::Message() << "sequence " << s << " key head " << key_head);
      expect("dk", c.dk.block(si, key_head), dk, dk_bound);
      expect("dv", c.dv.block(si, key_head), dv, dv_bound);
    }
  EXPECT_TRUE(c.out.gaps_untouched()) << "out: wrote outside its rows";
  EXPECT_TRUE(c.lse.gaps_untouched()) << "lse: wrote outside its rows";
  if (!backward) return;
  expect("dtable", c.dtable, dtable, dtable_bound);
  EXPECT_TRUE(c.dq.gaps_untouched()) << "dq: wrote outside its rows";
  EXPECT_TRUE(c.dk.gaps_untouched()) << "dk: wrote outside its rows";
  EXPECT_TRUE(c.dv.gaps_untouched()) << "dv: wrote outside its rows";
}

template class LocalTensor<float>;
template class LocalTensor<double>;
template class LocalTensor<BFloat16>;
template struct LocalCase<float>;
template struct LocalCase<double>;
template struct LocalCase<BFloat16>;
template struct LocalCase<BFloat16, float>;
template LocalBounds local_bounds<float>(const LocalReferenceProblem&, const std::vector<double>&, double, int64_t);
template LocalBounds local_bounds<double>(const LocalReferenceProblem&, const std::vector<double>&, double, int64_t);
template void expect_matches_reference<float>(const LocalShape&, bool);
template void expect_matches_reference<double>(const LocalShape&, bool);
template void expect_matches_reference<BFloat16>(const LocalShape&, bool);
template void expect_matches_reference<BFloat16, float>(const LocalShape&, bool);

}  // namespace longspan::testing
