#include "longspan/metrics/labels.h"

#include <gtest/gtest.h>

#include "longspan/base/check.h"

namespace longspan::metrics {
namespace {

using Labels = std::vector<std::vector<int64_t>>;

TEST(Metrics, F1OfOneLabelEach) {
  // Of label 0 two of three are found and one is claimed wrongly; of 1 one of one is found; 2 is never expected.
  const Labels expected = {{0}, {0}, {0}, {1}, {3}}, predicted = {{0}, {0}, {2}, {1}, {0}};
  const auto counts = count_labels(predicted, expected, 5);
  EXPECT_EQ(counts[0].right, 2);
  EXPECT_EQ(counts[0].wrong, 1);
  EXPECT_EQ(counts[0].missing, 1);
  EXPECT_DOUBLE_EQ(counts[0].f1(), 2.0 * 2 / (2 * 2 + 1 + 1));
  EXPECT_DOUBLE_EQ(micro_f1(counts), 3.0 / 5);  // of one label each it is the accuracy
  EXPECT_DOUBLE_EQ(exact_share(predicted, expected), 3.0 / 5);
  EXPECT_DOUBLE_EQ(macro_f1(counts), (2.0 / 3 + 1 + 0 + 0) / 4);  // label 4 is nowhere
}

TEST(Metrics, F1OfSeveralLabels) {
  const Labels expected = {{0, 1}, {}, {2}}, predicted = {{1, 2}, {0}, {2}};
  const auto counts = count_labels(predicted, expected, 3);
  EXPECT_DOUBLE_EQ(micro_f1(counts), 2.0 * 2 / (2 * 2 + 2 + 1));
  EXPECT_DOUBLE_EQ(macro_f1(counts), (0 + 1 + 2.0 / 3) / 3);
  EXPECT_DOUBLE_EQ(exact_share(predicted, expected), 1.0 / 3);
  EXPECT_DOUBLE_EQ(exact_share(expected, expected), 1);
}

TEST(Metrics, LabelsOutOfRangeAreRefused) {
  const std::vector<std::vector<int64_t>> good = {{0}}, above = {{2}}, below = {{-1}};
  EXPECT_THROW(count_labels(above, good, 2), InputError);
  EXPECT_THROW(count_labels(good, below, 2), InputError);
  EXPECT_EQ(count_labels(good, good, 2)[0].right, 1);
}

TEST(Metrics, OfNothing) {
  EXPECT_EQ(micro_f1({}), 0);
  EXPECT_EQ(macro_f1({}), 0);
  EXPECT_EQ(exact_share({}, {}), 0);
}

// The rules of tests/metrics/golden_labels.py, whose output stands here.
struct Golden {
  double accuracy, micro, skip, zero, one;
};
const Golden kOne = {0.7, 0.7, 0.4844993975428758, 0.36337454815715686, 0.6133745481571569};
const Golden kSeveral = {0.2, 0.7924528301886793, 0.6925573192239859, 0.5194179894179894, 0.7694179894179894};
constexpr int64_t kLabels = 8;

void compare(const Labels& predicted, const Labels& expected, const Golden& golden) {
  const auto counts = count_labels(predicted, expected, kLabels);
  EXPECT_DOUBLE_EQ(exact_share(predicted, expected), golden.accuracy);
  EXPECT_DOUBLE_EQ(micro_f1(counts), golden.micro);
  EXPECT_DOUBLE_EQ(macro_f1(counts, AbsentLabels::skip), golden.skip);
  EXPECT_DOUBLE_EQ(macro_f1(counts, AbsentLabels::zero), golden.zero);
  EXPECT_DOUBLE_EQ(macro_f1(counts, AbsentLabels::one), golden.one);
}

TEST(Metrics, OneLabelAsScikitLearn) {
  Labels predicted, expected;
  for (int64_t i = 0; i < 40; ++i) {
    const int64_t truth = i * i % 7 % 5;
    expected.push_back({truth});
    predicted.push_back({i == 11 ? 6 : i % 3 ? truth : (i + 2) % 4});
  }
  compare(predicted, expected, kOne);
}

TEST(Metrics, SeveralLabelsAsScikitLearn) {
  Labels predicted, expected;
  for (int64_t i = 0; i < 30; ++i) {
    std::vector<int64_t> truth, said;
    for (int64_t j = 0; j < kLabels; ++j) {
      const bool right = i != 4 && (i + 1) * (j + 2) % 5 < 2 && j < 5;
      if (right) truth.push_back(j);
      if ((i + j) % 4 ? right : (i * j + 1) % 2 && j < 7) said.push_back(j);
    }
    expected.push_back(truth);
    predicted.push_back(said);
  }
  compare(predicted, expected, kSeveral);
}

}  // namespace
}  // namespace longspan::metrics
