// What must not change a single bit of local attention: threads, company, total length, cuts, NaN elsewhere.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "longspan/base/aligned.h"
#include "longspan/base/parallel.h"
#include "longspan/testing/compare.h"
#include "tests/kernels/local_case.h"

namespace longspan::testing {
namespace {

template <class T>
class LocalBits : public ::testing::Test {
 protected:
  void SetUp() override { set_poison_scratch(true); }
  void TearDown() override { set_poison_scratch(false); }
};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(LocalBits, Types);

template <class T>
void expect_same(const char* name, const std::vector<T>& got, const std::vector<T>& wanted) {
  ASSERT_EQ(got.size(), wanted.size()) << name;
  const Comparison result = same_bits(got.data(), wanted.data(), static_cast<int64_t>(got.size()));
  EXPECT_TRUE(result) << name << ": " << result.message;
}

// Every result of one (sequence, head) of each case.
template <class T>
void expect_same_queries(const LocalCase<T>& got, int64_t s, int64_t h, const LocalCase<T>& wanted, int64_t s2,
                         int64_t h2) {
  expect_same("out", got.out.block(s, h), wanted.out.block(s2, h2));
  expect_same("lse", got.lse.block(s, h), wanted.lse.block(s2, h2));
  expect_same("dq", got.dq.block(s, h), wanted.dq.block(s2, h2));
}
template <class T>
void expect_same_keys(const LocalCase<T>& got, int64_t s, int64_t h, const LocalCase<T>& wanted, int64_t s2,
                      int64_t h2) {
  expect_same("dk", got.dk.block(s, h), wanted.dk.block(s2, h2));
  expect_same("dv", got.dv.block(s, h), wanted.dv.block(s2, h2));
}
template <class T>
void expect_same_block(const LocalCase<T>& got, int64_t s, int64_t h, const LocalCase<T>& wanted, int64_t s2,
                       int64_t h2) {
  expect_same_queries(got, s, h, wanted, s2, h2);
  expect_same_keys(got, s, h, wanted, s2, h2);
}

template <class T>
void copy_rows(const LocalTensor<T>& from, int64_t s, int64_t h, int64_t first, int64_t count, LocalTensor<T>& to,
               int64_t s2, int64_t h2) {
  for (int64_t i = 0; i < count; ++i) std::copy_n(from.row(s, h, first + i), from.width(), to.row(s2, h2, i));
}

TYPED_TEST(LocalBits, ThreadsDoNotChangeThem) {
  LocalShape shape = self_shape(1500, 70, 20);
  shape.queries = shape.keys = {1500, 1500};
  shape.heads = 2;
  shape.width = 20;
  shape.value_width = 9;
  for (const TableKind kind : {TableKind::per_head, TableKind::shared}) {
    shape.table = kind;
    shape.key_heads = kind == TableKind::shared ? 1 : 2;
    shape.dropout = kind == TableKind::shared ? 0.2 : 0;
    LocalCase<TypeParam> serial(shape);
    serial.forward();
    serial.backward();
    for (const int threads : {1, 2, 3, 3}) {
      const ThreadPool pool(threads);
      LocalCase<TypeParam> parallel(shape);
      parallel.forward(pool);
      parallel.backward(pool);
      for (int64_t s = 0; s < 2; ++s)
        for (int64_t h = 0; h < 2; ++h) {
          expect_same_queries(parallel, s, h, serial, s, h);
          if (h < serial.key_heads()) expect_same_keys(parallel, s, h, serial, s, h);
        }
      expect_same("dtable", parallel.dtable, serial.dtable);
    }
  }
}

TYPED_TEST(LocalBits, CompanyDoesNotChangeThem) {
  const std::vector<int64_t> lengths = {37, 0, 1, 700, 530, 16};
  LocalShape packed;
  packed.queries = packed.keys = lengths;
  packed.packed = true;
  packed.heads = 2;
  packed.width = 11;
  packed.value_width = 18;
  packed.reach_left = 33;
  packed.reach_right = 4;
  packed.shift = 3;
  packed.heads_inside = true;
  LocalCase<TypeParam> together(packed);
  together.forward();
  together.backward();
  for (std::size_t s = 0; s < lengths.size(); ++s)
    for (int64_t h = 0; h < packed.heads; ++h) {
      LocalShape single = packed;
      single.queries = single.keys = {lengths[s]};
      single.packed = false;
      single.heads = 1;
      single.shift = 0;
      LocalCase<TypeParam> alone(single);
      const int64_t si = static_cast<int64_t>(s);
      copy_rows(together.q, si, h, 0, lengths[s], alone.q, 0, 0);
      copy_rows(together.k, si, h, 0, lengths[s], alone.k, 0, 0);
      copy_rows(together.v, si, h, 0, lengths[s], alone.v, 0, 0);
      copy_rows(together.dout, si, h, 0, lengths[s], alone.dout, 0, 0);
      alone.table.assign(together.table.begin() + h * together.table_size,
                         together.table.begin() + (h + 1) * together.table_size);
      alone.forward();
      alone.backward();
      SCOPED_TRACE(::testing::Message() << "sequence " << s << " head " << h);
      expect_same_block(alone, 0, 0, together, si, h);
    }
  // The same in a batch beside other sequences.
  LocalShape batch = packed;
  batch.packed = false;
  batch.queries = batch.keys = {700, 700, 700};
  LocalCase<TypeParam> beside(batch);
  for (int64_t h = 0; h < 2; ++h) {
    copy_rows(together.q, 3, h, 0, 700, beside.q, 1, h);
    copy_rows(together.k, 3, h, 0, 700, beside.k, 1, h);
    copy_rows(together.v, 3, h, 0, 700, beside.v, 1, h);
    copy_rows(together.dout, 3, h, 0, 700, beside.dout, 1, h);
  }
  beside.forward();
  beside.backward();
  for (int64_t h = 0; h < 2; ++h) expect_same_block(beside, 1, h, together, 3, h);
}

// Query heads of a group give what they give each with its own copy of the keys.
TYPED_TEST(LocalBits, GroupsReadTheKeysOfTheirHead) {
  LocalShape shape = self_shape(600, 45, 7);
  shape.heads = 4;
  shape.key_heads = 2;
  LocalCase<TypeParam> grouped(shape);
  shape.key_heads = 4;
  LocalCase<TypeParam> copied(shape);
  for (int64_t h = 0; h < 4; ++h) {
    copy_rows(grouped.k, 0, h / 2, 0, 600, copied.k, 0, h);
    copy_rows(grouped.v, 0, h / 2, 0, 600, copied.v, 0, h);
  }
  grouped.forward();
  copied.forward();
  grouped.backward();
  copied.backward();
  for (int64_t h = 0; h < 4; ++h) expect_same_queries(grouped, 0, h, copied, 0, h);
  expect_same("dtable", grouped.dtable, copied.dtable);
}

TYPED_TEST(LocalBits, PrefixOfALongerInput) {
  LocalShape shape = self_shape(600, 45, 7);
  shape.width = 13;
  shape.value_width = 17;
  LocalCase<TypeParam> whole(shape);
  whole.forward();
  for (const int64_t length : {1, 15, 16, 17, 100, 255, 257, 599}) {
    LocalShape part = shape;
    part.queries = part.keys = {length};
    LocalCase<TypeParam> prefix(part);
    prefix.forward();
    std::vector<TypeParam> wanted = whole.out.block(0, 0), got = prefix.out.block(0, 0);
    // The last rows of the prefix see fewer keys to their right.
    const int64_t complete = std::max<int64_t>(length - shape.reach_right, 0);
    got.resize(static_cast<std::size_t>(complete * shape.value_width));
    wanted.resize(got.size());
    SCOPED_TRACE(length);
    expect_same("out", got, wanted);
  }
}

// A stream: queries in pieces, each with the keys that its rows see and no others.
TYPED_TEST(LocalBits, CutsOfAStream) {
  const int64_t length = 150, left = 20;
  LocalShape shape = self_shape(length, left, 0);
  shape.width = 13;
  shape.value_width = 17;
  LocalCase<TypeParam> whole(shape);
  whole.forward();
  for (const int64_t piece : {1, 2, 15, 16, 17, 64}) {
    std::vector<TypeParam> out, lse;
    for (int64_t first = 0; first < length; first += piece) {
      const int64_t count = std::min(piece, length - first);
      const int64_t past = std::min(first, left);
      LocalShape part = shape;
      part.queries = {count};
      part.keys = {past + count};
      LocalCase<TypeParam> step(part);
      copy_rows(whole.q, 0, 0, first, count, step.q, 0, 0);
      copy_rows(whole.k, 0, 0, first - past, past + count, step.k, 0, 0);
      copy_rows(whole.v, 0, 0, first - past, past + count, step.v, 0, 0);
      step.forward();
      const std::vector<TypeParam> rows = step.out.block(0, 0), sums = step.lse.block(0, 0);
      out.insert(out.end(), rows.begin(), rows.end());
      lse.insert(lse.end(), sums.begin(), sums.end());
    }
    SCOPED_TRACE(piece);
    expect_same("out", out, whole.out.block(0, 0));
    expect_same("lse", lse, whole.lse.block(0, 0));
  }
}

enum class Poisoned { query, key, value, dout };

// NaN and infinity in one row reach exactly the rows whose windows hold it; all others keep their bits.
template <class T>
void expect_contained(Poisoned what, T poison, int64_t at) {
  LocalShape shape = self_shape(100, 21, 6);
  shape.width = 9;
  shape.value_width = 20;
  LocalCase<T> clean(shape), dirty(shape);
  LocalTensor<T>& target = what == Poisoned::query   ? dirty.q
                           : what == Poisoned::key   ? dirty.k
                           : what == Poisoned::value ? dirty.v
                                                     : dirty.dout;
  for (int64_t c = 0; c < target.width(); ++c) target.row(0, 0, at)[c] = poison;
  clean.forward();
  clean.backward();
  dirty.forward();
  dirty.backward();
  const auto sees = [&](int64_t i, int64_t j) { return i - j <= shape.reach_left && j - i <= shape.reach_right; };
  const bool row_operand = what == Poisoned::query || what == Poisoned::dout;
  const auto row_touched = [&](int64_t i) { return row_operand ? i == at : sees(i, at); };
  const auto key_touched = [&](int64_t j) {
    for (int64_t i = 0; i < 100; ++i)
      if (row_touched(i) && sees(i, j)) return true;
    return false;
  };
  const auto same_row = [](const LocalTensor<T>& a, const LocalTensor<T>& b, int64_t i) {
    return static_cast<bool>(same_bits(a.row(0, 0, i), b.row(0, 0, i), a.width()));
  };
  for (int64_t i = 0; i < 100; ++i) {
    SCOPED_TRACE(::testing::Message() << "operand " << static_cast<int>(what) << " poison " << poison << " row " << i);
    if (!row_touched(i)) {
      EXPECT_TRUE(same_row(dirty.out, clean.out, i)) << "out";
      EXPECT_TRUE(same_row(dirty.lse, clean.lse, i)) << "lse";
      EXPECT_TRUE(same_row(dirty.dq, clean.dq, i)) << "dq";
    } else if (std::isnan(poison) && what != Poisoned::dout) {
      EXPECT_TRUE(std::isnan(dirty.out.row(0, 0, i)[0])) << "out hides a NaN of its own window";
    }
    if (!key_touched(i)) {
      EXPECT_TRUE(same_row(dirty.dk, clean.dk, i)) << "dk";
      EXPECT_TRUE(same_row(dirty.dv, clean.dv, i)) << "dv";
    }
  }
}

TYPED_TEST(LocalBits, NonFiniteRowsAreContained) {
  const TypeParam nan = std::numeric_limits<TypeParam>::quiet_NaN(),
                  infinity = std::numeric_limits<TypeParam>::infinity();
  for (const Poisoned what : {Poisoned::query, Poisoned::key, Poisoned::value, Poisoned::dout})
    for (const TypeParam poison : {nan, infinity, -infinity})
      for (const int64_t at : {0, 15, 16, 50, 99}) expect_contained<TypeParam>(what, poison, at);
}

}  // namespace
}  // namespace longspan::testing
