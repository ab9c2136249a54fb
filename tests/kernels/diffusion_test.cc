// Diffusion against the reference: every piece of a pattern, every option of the kernel.
#include <gtest/gtest.h>

#include <vector>

#include "longspan/base/aligned.h"
#include "longspan/base/check.h"
#include "tests/kernels/diffusion_case.h"
#include "tests/kernels/diffusion_patterns.h"

namespace longspan::testing {
namespace {

using kernels::DiffusionBackwardStates;
using kernels::EdgeWeights;

template <class S>
class Diffusion : public ::testing::Test {
 protected:
  void SetUp() override { set_poison_scratch(true); }
  void TearDown() override { set_poison_scratch(false); }
};
using Types = ::testing::Types<float, double, BFloat16>;
TYPED_TEST_SUITE(Diffusion, Types);

DiffusionShape shape_of(const patterns::Pattern& pattern) {
  DiffusionShape shape;
  shape.patterns = {pattern};
  return shape;
}
/// A pattern with every piece but blocks, and lanes of dense rows inside tiles.
patterns::Pattern mixed(int64_t n, bool causal = false) {
  return pattern_of("window_overlap+global+random", n,
                    {{"w", 16},
                     {"g", 5},
                     {"r", 6},
                     {"global_choice", "list"},
                     {"global_tokens", "0,7,17,18,50"},
                     {"causal", causal}});
}

TYPED_TEST(Diffusion, EveryPattern) {
  const std::vector<std::pair<std::string, FieldValues>> kinds = {
      {"window_overlap", {{"w", 16}}},
      {"window_band", {{"k", 9}}},
      {"window_block", {{"b", 20}}},
      {"window_block", {{"b", 5}}},
      {"global", {{"g", 19}, {"global_choice", "first"}}},
      {"random", {{"r", 7}}},
      {"uniform", {{"uniform_r", 5}}},
      {"bigbird", {{"b", 8}}},
      {"bigbird", {{"b", 10}}},
      {"longformer", {{"w", 16}, {"g", 3}}},
      {"strided", {{"l", 12}}},
      {"fixed", {{"l", 12}, {"c", 3}}},
      {"full", {}},
      {"window_band+random", {{"k", 2}, {"r", 20}}},
      {"window_overlap+global+random", {{"w", 16}, {"g", 6}, {"r", 6}}}};
  for (const auto& [name, values] : kinds)
    for (const bool causal : {false, true}) {
      FieldValues all = values;
      all["causal"] = causal;
      if (causal && (name == "strided" || name == "fixed")) all.erase("causal");
      SCOPED_TRACE(name + (causal ? ", causal" : ""));
      expect_matches_reference<TypeParam>(shape_of(pattern_of(name, 100, all)));
    }
}

TYPED_TEST(Diffusion, SmallAndEmpty) {
  for (const int64_t n : {0, 1, 2, 15, 16, 17, 33}) {
    SCOPED_TRACE(n);
    expect_matches_reference<TypeParam>(shape_of(pattern_of("window_overlap+random", n, {{"w", 8}, {"r", 50}})));
  }
  // Rows and columns without a pair.
  expect_matches_reference<TypeParam>(
      shape_of(pattern_of_pairs(40, {{3, 5}, {3, 39}, {20, 3}, {39, 0}}, {{"self_loops", false}})));
  expect_matches_reference<TypeParam>(shape_of(pattern_of_pairs(20, {}, {{"self_loops", false}})));
}

TYPED_TEST(Diffusion, WidthsAndHops) {
  for (const int64_t width : {1, 3, 16, 64, 65, 130})
    for (const int64_t hops : {0, 1, 4}) {
      SCOPED_TRACE(::testing::Message() << "width " << width << ", hops " << hops);
      DiffusionShape shape = shape_of(mixed(70));
      shape.width = width;
      shape.value_width = width == 16 ? 80 : width == 130 ? 1 : width + 1;
      shape.hops = hops;
      expect_matches_reference<TypeParam>(shape);
    }
}

TYPED_TEST(Diffusion, HeadsSequencesAndPacking) {
  DiffusionShape shape;
  shape.patterns = {mixed(64), pattern_of("window_band", 1, {{"k", 1}}), mixed(83), pattern_of("full", 0)};
  shape.pattern_of = {2, 0, 3, 1, 0};
  shape.packed = true;
  shape.heads = 4;
  shape.key_heads = 2;
  shape.own_coefficients = true;
  expect_matches_reference<TypeParam>(shape);
  shape.key_heads = 0;
  shape.own_coefficients = false;
  expect_matches_reference<TypeParam>(shape);
  shape.packed = false;
  shape.patterns = {mixed(64), pattern_of("window_band", 64, {{"k", 1}})};
  shape.pattern_of = {0, 1, 0};
  shape.key_heads = 1;
  expect_matches_reference<TypeParam>(shape);
}

/// Every way to have weights and states, with the masks under way.
template <class S>
void expect_every_mode(DiffusionShape shape, const Parallel& parallel = SerialParallel()) {
  for (const EdgeWeights edge_weights : {EdgeWeights::stored, EdgeWeights::recomputed})
    for (const auto backward : {DiffusionBackwardStates::recompute_slices, DiffusionBackwardStates::store_all,
                                DiffusionBackwardStates::recompute_quadratic})
      for (const bool keep : {false, true}) {
        SCOPED_TRACE(::testing::Message() << "weights " << static_cast<int>(edge_weights) << ", backward "
                                          << static_cast<int>(backward) << ", kept " << keep);
        shape.edge_weights = edge_weights;
        shape.backward = backward;
        shape.keep_weights = keep;
        expect_matches_reference<S>(shape, parallel);
      }
}

TYPED_TEST(Diffusion, ModesOfTheBackwardPass) {
  DiffusionShape shape = shape_of(mixed(70));
  shape.hops = 4;
  expect_every_mode<TypeParam>(shape);
}

TYPED_TEST(Diffusion, Dropout) {
  DiffusionShape shape = shape_of(mixed(70));
  shape.pattern_of = {0, 0};
  shape.heads = 2;
  shape.hop_dropout = 0.3;
  for (const bool per_hop : {false, true}) {
    shape.dropout_per_hop = per_hop;
    shape.attention_dropout = 0.4;
    expect_every_mode<TypeParam>(shape);
  }
  shape.dropout_origin = {5, 1000, 2, 33};
  expect_matches_reference<TypeParam>(shape);
  for (int64_t i = 0; i < 70; ++i) shape.positions.push_back(3 * i + i % 2);
  expect_matches_reference<TypeParam>(shape);
  shape.attention_dropout = 0;
  expect_matches_reference<TypeParam>(shape);
}

TYPED_TEST(Diffusion, TokensThatAreNotThere) {
  DiffusionShape shape = shape_of(mixed(70));
  shape.pattern_of = {0, 0, 0};
  for (int64_t i = 0; i < 3 * 70; ++i) shape.valid.push_back(i < 70 ? i < 47 : i < 140 ? i % 7 != 3 : false);
  for (const double score : {-std::numeric_limits<double>::infinity(), -10000.0}) {
    SCOPED_TRACE(score);
    shape.invalid_score = score;
    expect_every_mode<TypeParam>(shape);
  }
}

// Pairs of one's own: rows stand in panels in another order than tokens in memory.
TYPED_TEST(Diffusion, TokensInAnOrder) {
  for (const bool self_loops : {true, false}) {
    const patterns::Pattern pattern = shuffled_line(103, {{"self_loops", self_loops}});
    ASSERT_NE(pattern.view().order, nullptr);
    DiffusionShape shape = shape_of(pattern);
    shape.heads = 2;
    shape.key_heads = 1;
    for (const auto edge_weights : {kernels::EdgeWeights::stored, kernels::EdgeWeights::recomputed})
      for (const auto backward :
           {kernels::DiffusionBackwardStates::recompute_slices, kernels::DiffusionBackwardStates::store_all,
            kernels::DiffusionBackwardStates::recompute_quadratic}) {
        shape.edge_weights = edge_weights;
        shape.backward = backward;
        shape.keep_weights = backward == kernels::DiffusionBackwardStates::store_all;
        expect_matches_reference<TypeParam>(shape, ThreadPool(2));
      }
    shape.edge_weights = kernels::EdgeWeights::stored;
    shape.keep_weights = false;
    shape.attention_dropout = 0.3;
    shape.hop_dropout = 0.2;
    for (const bool per_hop : {false, true}) {
      shape.dropout_per_hop = per_hop;
      expect_matches_reference<TypeParam>(shape);
    }
    for (int64_t i = 0; i < 103; ++i) shape.valid.push_back(i % 5 != 2);
    expect_matches_reference<TypeParam>(shape);
    shape.invalid_score = -30;
    expect_matches_reference<TypeParam>(shape);
    // Packed behind another sequence.
    DiffusionShape packed = shape_of(pattern);
    packed.patterns = {pattern, pattern_of("window_band", 40, {{"k", 3}})};
    packed.pattern_of = {1, 0, 0};
    packed.packed = true;
    packed.hop_dropout = packed.attention_dropout = 0.2;
    expect_matches_reference<TypeParam>(packed);
  }
}

TYPED_TEST(Diffusion, PastOfAStream) {
  for (const int64_t first : {1, 16, 37, 69, 70}) {
    SCOPED_TRACE(first);
    DiffusionShape shape = shape_of(mixed(70, true));
    shape.first_row = first;
    shape.pattern_of = {0, 0};
    shape.heads = 2;
    expect_every_mode<TypeParam>(shape);
  }
  DiffusionShape nothing_new = shape_of(mixed(64, true));
  nothing_new.first_row = 64;
  expect_every_mode<TypeParam>(nothing_new);
  DiffusionShape shape = shape_of(mixed(70, true));
  shape.first_row = 40;
  shape.attention_dropout = shape.hop_dropout = 0.2;
  for (int64_t i = 0; i < 70; ++i) shape.positions.push_back(i < 40 ? 2 * i : 40 + i);
  expect_every_mode<TypeParam>(shape);
}

// Several strips of weights on two threads. Few columns, so that the reference ends. The bounds of gradients grow with
// the largest column sum at every hop, so that several hops go without global tokens: else nothing of 4,500 tokens
// would be checked in float.
TYPED_TEST(Diffusion, LongerThanAStripInParallel) {
  for (const bool global : {false, true}) {
    DiffusionShape shape =
        global ? shape_of(pattern_of("window_overlap+global+random", 4500, {{"w", 64}, {"g", 3}, {"r", 9}}))
               : shape_of(pattern_of("window_overlap+random", 4500, {{"w", 64}, {"r", 9}}));
    shape.width = shape.value_width = 2;
    shape.hops = global ? 1 : 2;
    for (const EdgeWeights edge_weights : {EdgeWeights::stored, EdgeWeights::recomputed}) {
      shape.edge_weights = edge_weights;
      expect_matches_reference<TypeParam>(shape, ThreadPool(2));
    }
  }
}

TYPED_TEST(Diffusion, LargeScores) {
  DiffusionShape shape = shape_of(mixed(70));
  shape.gain = 1000;
  expect_every_mode<TypeParam>(shape);
}

template <class S>
void expect_refused(void (*change)(kernels::DiffusionForward<S>&), const char* wanted) {
  const patterns::Pattern pattern = pattern_of("window_band", 4, {{"k", 1}});
  const kernels::DiffusionPattern view{pattern.view(), pattern.transposed()};
  kernels::DiffusionForward<S> p;
  p.sequences = p.heads = p.width = p.value_width = 1;
  p.rows.rows = 4;
  p.patterns = &view;
  change(p);
  try {
    kernels::diffusion_forward(p, SerialParallel());
    FAIL() << wanted;
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), wanted);
  }
}

TYPED_TEST(Diffusion, RefusesWhatCannotBe) {
  using P = kernels::DiffusionForward<TypeParam>;
  const auto refused = expect_refused<TypeParam>;
  refused([](P& p) { p.key_heads = 2; }, "diffusion: key_heads must divide 1 heads, got 2");
  refused([](P& p) { p.width = 0; }, "diffusion: width must be at least 1, got 0");
  refused([](P& p) { p.value_width = 0; }, "diffusion: value_width must be at least 1, got 0");
  refused([](P& p) { p.hops = -1; }, "diffusion: hops must not be negative, got -1");
  refused([](P& p) { p.rows.rows = 5; }, "diffusion: the pattern of sequence 0 must have its 5 tokens, got 4");
  refused([](P& p) { p.first_row = 5; }, "diffusion: first_row must be at most the 4 tokens of sequence 0, got 5");
  refused([](P& p) { p.attention_dropout.probability = 1; }, "diffusion: attention_dropout must be in [0, 1), got 1");
  refused([](P& p) { p.hop_dropout.probability = -0.5; }, "diffusion: hop_dropout must be in [0, 1), got -0.5");
}

}  // namespace
}  // namespace longspan::testing
