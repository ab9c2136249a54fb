#include "longspan/models/sampling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "tests/io/scratch_folder.h"
#include "tests/models/small_models.h"

namespace longspan::models {
namespace {

using Counts = std::map<int64_t, int>;

/// How often each token is drawn when `uniform` goes evenly from 0 to 1.
Counts shares(const at::Tensor& logits, const SamplingOptions& options, std::span<const int64_t> recent = {}) {
  Counts counts;
  for (int i = 0; i < 1000; ++i) ++counts[sample(logits, options, recent, (i + 0.5) / 1000)];
  return counts;
}

// Probabilities 0.5, 0.25, 0.125, 0.125 in an order that is not sorted.
at::Tensor eighths() { return torch::tensor({0.125, 0.5, 0.125, 0.25}).log(); }

TEST(Sample, FollowsTheProbabilities) {
  SamplingOptions options;
  EXPECT_EQ(shares(eighths(), options), (Counts{{0, 125}, {1, 500}, {2, 125}, {3, 250}}));
  options.temperature = 0.5;  // squares: 16/22, 4/22, 1/22, 1/22
  EXPECT_EQ(shares(eighths(), options).at(1), 728);  // from 1/22 to 17/22
  options.temperature = 1e-300;
  EXPECT_EQ(shares(eighths(), options), (Counts{{1, 1000}}));
  options.temperature = 0;
  EXPECT_EQ(sample(torch::tensor({1.0, 2.0, 2.0}), options, {}, 0.99), 1) << "the lowest id among equals";
}

TEST(Sample, KeepsTheMostLikely) {
  SamplingOptions options;
  options.top_k = 2;
  EXPECT_EQ(shares(eighths(), options), (Counts{{1, 667}, {3, 333}}));
  options.top_k = 3;  // the lower id of two equals
  EXPECT_EQ(shares(eighths(), options), (Counts{{0, 143}, {1, 571}, {3, 286}}));
}

TEST(Sample, KeepsTheMass) {
  SamplingOptions options;
  options.top_p = 0.6;  // 0.5 does not reach it, 0.75 does
  EXPECT_EQ(shares(eighths(), options), (Counts{{1, 667}, {3, 333}}));
  options.top_p = 0;
  EXPECT_EQ(shares(eighths(), options), (Counts{{1, 1000}}));
  options.top_k = 2;  // of the two that are left the first has 2/3
  options.top_p = 0.66;
  EXPECT_EQ(shares(eighths(), options), (Counts{{1, 1000}}));
}

// More candidates than are sorted at first: 999 of probability 1/1000 and one of 1/1000 more.
TEST(Sample, KeepsTheMassOfManyCandidates) {
  at::Tensor logits = torch::zeros({1000});
  logits[500] = 0.5;
  SamplingOptions options;
  options.top_p = 0.25;
  std::set<int64_t> seen;
  for (const auto& [token, count] : shares(logits, options)) seen.insert(token);
  const double total = 999 + std::exp(0.5);
  const auto expected = static_cast<int64_t>(std::ceil(0.25 * total - std::exp(0.5)));  // equals, by id
  EXPECT_EQ(static_cast<int64_t>(seen.size()), expected + 1);
  EXPECT_EQ(*seen.rbegin(), 500);
  EXPECT_EQ(*std::prev(seen.end(), 2), expected - 1);
}

TEST(Sample, KeepsWhatIsNotMuchLessLikelyThanTheBest) {
  SamplingOptions options;
  options.min_p = 0.3;
  EXPECT_EQ(shares(eighths(), options), (Counts{{1, 667}, {3, 333}}));
  options.min_p = 1;
  EXPECT_EQ(shares(eighths(), options), (Counts{{1, 1000}}));
  // The mass of top_p is that of the tokens before min_p: 0.5 of 1 is not 0.6, so both that min_p leaves stay.
  options.min_p = 0.3;
  options.top_p = 0.6;
  EXPECT_EQ(shares(eighths(), options), (Counts{{1, 667}, {3, 333}}));
}

TEST(Sample, PenalisesWhatStoodWithinTheWindow) {
  const at::Tensor logits = torch::tensor({2.0, 1.5, -1.0, -1.1});
  SamplingOptions options;
  options.temperature = 0;
  options.repetition_penalty = 2;
  const auto best = [&](std::vector<int64_t> recent) { return sample(logits, options, recent, 0); };
  EXPECT_EQ(best({}), 0);
  EXPECT_EQ(best({0}), 1) << "2 / 2 is less than 1.5";
  EXPECT_EQ(best({0, 0, 0}), 1) << "once, however often";
  EXPECT_EQ(best({0, 1}), 0) << "1 against 0.75";
  options.repetition_window = 2;
  EXPECT_EQ(best({0, 2, 3}), 0) << "too long ago";
  options.repetition_window = 0;
  EXPECT_EQ(best({0}), 0);
  options.repetition_window = 4;
  const at::Tensor negative = torch::tensor({-1.0, -1.5});
  const std::vector<int64_t> first = {0};
  EXPECT_EQ(sample(negative, options, first, 0), 1) << "-1 * 2 is less than -1.5";
  EXPECT_EQ(negative[0].item<float>(), -1) << "the logits stay as they were";
}

TEST(Sample, WrongLogitsAreAnError) {
  EXPECT_EQ(error_of<RunError>([] { sample(torch::tensor({0.0, std::nan("")}), {}, {}, 0.5); }),
            "sample: a logit is not finite");
  EXPECT_EQ(error_of([] { sample(torch::zeros({0}), {}, {}, 0.5); }), "sample: there are no logits");
}

TEST(Draw, DependsOnSeedAndPositionAlone) {
  std::set<double> seen;
  for (int64_t seed = 0; seed < 20; ++seed)
    for (int64_t position : {int64_t{0}, int64_t{1}, int64_t{2}, int64_t{1} << 40}) {
      const double value = draw_of(seed, position);
      EXPECT_EQ(draw_of(seed, position), value);
      EXPECT_TRUE(value >= 0 && value < 1);
      seen.insert(value);
    }
  EXPECT_EQ(seen.size(), 80u);
}

}  // namespace
}  // namespace longspan::models
