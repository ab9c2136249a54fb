// What must not change a single bit of diffusion: threads, company, packing, numbers elsewhere that are not finite.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "longspan/base/aligned.h"
#include "tests/kernels/diffusion_case.h"
#include "tests/kernels/diffusion_patterns.h"

namespace longspan::testing {
namespace {

template <class T>
class DiffusionBits : public ::testing::Test {
 protected:
  void SetUp() override { set_poison_scratch(true); }
  void TearDown() override { set_poison_scratch(false); }
};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(DiffusionBits, Types);

template <class T>
bool same(T a, T b) {
  return a == b ? std::signbit(a) == std::signbit(b) : a != a && b != b;
}

template <class T>
void expect_same(const char* name, const std::vector<T>& got, const std::vector<T>& wanted) {
  ASSERT_EQ(got.size(), wanted.size()) << name;
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_TRUE(same(got[i], wanted[i])) << name << " " << i << ": " << got[i] << " and " << wanted[i];
}
template <class T>
void expect_same_results(const DiffusionCase<T>& got, const DiffusionCase<T>& wanted) {
  expect_same("out", got.out.data, wanted.out.data);
  expect_same("lse", got.lse.data, wanted.lse.data);
  expect_same("dq", got.dq.data, wanted.dq.data);
  expect_same("dk", got.dk.data, wanted.dk.data);
  expect_same("dv", got.dv.data, wanted.dv.data);
  expect_same("dcoefficients", got.dcoefficients, wanted.dcoefficients);
}

patterns::Pattern mixed(int64_t n) {
  return pattern_of("window_overlap+global+random", n, {{"w", 32}, {"g", 20}, {"r", 8}});
}

TYPED_TEST(DiffusionBits, ThreadsDoNotChangeThem) {
  DiffusionShape shape;
  shape.patterns = {mixed(1100)};
  shape.width = 20;
  shape.value_width = 9;
  shape.hops = 2;
  shape.hop_dropout = 0.1;
  for (const int64_t heads : {1, 6}) {
    shape.heads = heads;
    shape.attention_dropout = heads == 1 ? 0 : 0.1;
    shape.edge_weights = heads == 1 ? kernels::EdgeWeights::recomputed : kernels::EdgeWeights::stored;
    DiffusionCase<TypeParam> serial(shape);
    serial.forward();
    serial.backward();
    for (const int threads : {2, 3}) {
      const ThreadPool pool(threads);
      DiffusionCase<TypeParam> parallel(shape);
      parallel.forward(pool);
      parallel.backward(pool);
      expect_same_results(parallel, serial);
    }
  }
}

// Tokens in an order of their own, in a layout that was made before the call or in it.
TYPED_TEST(DiffusionBits, LayoutsMadeBeforeDoNotChangeThem) {
  DiffusionShape shape;
  shape.patterns = {shuffled_line(700)};
  ASSERT_NE(shape.patterns[0].view().order, nullptr);
  shape.attention_dropout = shape.hop_dropout = 0.1;
  for (const auto edge_weights : {kernels::EdgeWeights::stored, kernels::EdgeWeights::recomputed}) {
    shape.edge_weights = edge_weights;
    shape.laid_out = false;
    DiffusionCase<TypeParam> wanted(shape);
    shape.laid_out = true;
    DiffusionCase<TypeParam> got(shape);
    wanted.forward();
    wanted.backward();
    const ThreadPool pool(3);
    got.forward(pool);
    got.backward(pool);
    expect_same_results(got, wanted);
  }
}

TYPED_TEST(DiffusionBits, CompanyDoesNotChangeThem) {
  DiffusionShape packed;
  packed.patterns = {mixed(37), mixed(150), pattern_of("window_band", 1, {{"k", 1}})};
  packed.pattern_of = {1, 0, 2};
  packed.packed = true;
  DiffusionCase<TypeParam> together(packed);
  together.forward();
  together.backward();
  for (std::size_t s = 0; s < 3; ++s) {
    DiffusionShape single = packed;
    single.packed = false;
    single.pattern_of = {packed.pattern_of[s]};
    DiffusionCase<TypeParam> alone(single);
    const int64_t n = alone.tokens(0), row = together.key_row(static_cast<int64_t>(s));
    const auto slice = [&](const DiffusionTensor<TypeParam>& x) {
      return std::vector<TypeParam>(x.data.begin() + row * x.width, x.data.begin() + (row + n) * x.width);
    };
    alone.q.data = slice(together.q);
    alone.k.data = slice(together.k);
    alone.v.data = slice(together.v);
    alone.dout.data = slice(together.dout);
    alone.forward();
    alone.backward();
    expect_same("out", alone.out.data, slice(together.out));
    expect_same("dq", alone.dq.data, slice(together.dq));
    expect_same("dk", alone.dk.data, slice(together.dk));
    expect_same("dv", alone.dv.data, slice(together.dv));
  }
}

// With one hop a query's number reaches its own row and its keys, a key's and a value's the rows that see it.
TYPED_TEST(DiffusionBits, NumbersThatAreNotFiniteStayWhereTheyAreSeen) {
  const int64_t n = 150;
  DiffusionShape shape;
  shape.patterns = {mixed(n)};
  shape.hops = 1;
  shape.width = shape.value_width = 5;
  const patterns::Pattern& pattern = shape.patterns[0];
  DiffusionCase<TypeParam> clean(shape);
  clean.forward();
  clean.backward();
  for (const TypeParam poison :
       {std::numeric_limits<TypeParam>::quiet_NaN(), std::numeric_limits<TypeParam>::infinity()})
    for (const char what : {'q', 'k', 'v', 'o'})
      for (const int64_t token : {0, 16, 77, 149}) {
        SCOPED_TRACE(::testing::Message() << what << " of token " << token << " is " << poison);
        DiffusionCase<TypeParam> x(shape);
        (what == 'q' ? x.q : what == 'k' ? x.k : what == 'v' ? x.v : x.dout).row(token, 0)[1] = poison;
        x.forward();
        x.backward();
        for (int64_t i = 0; i < n; ++i) {
          const bool sees = pattern.contains(i, token), seen = pattern.contains(token, i);
          const bool row_out = what == 'q' ? i == token : what == 'o' ? false : sees || (what == 'v' && i == token);
          const auto same_rows = [&](const char* name, const DiffusionTensor<TypeParam>& a,
                                     const DiffusionTensor<TypeParam>& b) {
            for (int64_t c = 0; c < 5; ++c)
              ASSERT_TRUE(same(a.row(i, 0)[c], b.row(i, 0)[c])) << name << " of token " << i;
          };
          if (!row_out) same_rows("out", x.out, clean.out);
          const bool row_dq = row_out || (what == 'o' && i == token);
          if (!row_dq) same_rows("dq", x.dq, clean.dq);
          // A key's gradient comes from all queries that see it, and theirs from what they see.
          if ((what == 'q' || what == 'o') && !seen) same_rows("dk", x.dk, clean.dk);
          if ((what == 'q' || what == 'o') && !seen && i != token) same_rows("dv", x.dv, clean.dv);
          if (what == 'v') same_rows("dv", x.dv, clean.dv);
        }
      }
}

// What stands in removed tokens is not looked at.
TYPED_TEST(DiffusionBits, RemovedTokensMayBeAnything) {
  DiffusionShape shape;
  shape.patterns = {mixed(150)};
  for (int64_t i = 0; i < 150; ++i) shape.valid.push_back(i < 100 || i % 3 == 0);
  DiffusionCase<TypeParam> clean(shape), x(shape);
  for (int64_t i = 0; i < 150; ++i)
    if (!shape.valid[static_cast<std::size_t>(i)])
      for (auto* tensor : {&x.q, &x.k, &x.v, &x.dout})
        for (int64_t c = 0; c < tensor->width; ++c) tensor->row(i, 0)[c] = std::numeric_limits<TypeParam>::quiet_NaN();
  for (auto* each : {&clean, &x}) {
    each->forward();
    each->backward();
  }
  expect_same_results(x, clean);
}

}  // namespace
}  // namespace longspan::testing
