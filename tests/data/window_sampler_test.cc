#include "longspan/data/window_sampler.h"

#include <cmath>
#include <set>

#include "tests/io/scratch_folder.h"

namespace longspan {
namespace {

class WindowSamplerTest : public ScratchFolder {
 protected:
  TokenFile tokens(int64_t size) {
    std::string text(size, '\0');
    for (int64_t i = 0; i < size; ++i) text[i] = static_cast<char>(i % 251);
    return TokenFile(put("t.bin", text), TokenType::u8, 256);
  }
};

TEST_F(WindowSamplerTest, WindowsAreWhatTheFileHolds) {
  const TokenFile file = tokens(1000);
  const WindowSampler sampler(file, 16, 5);
  ASSERT_EQ(sampler.window(), 17);
  std::vector<int64_t> out(3 * 17 + 1, -1);
  sampler.fill(out.data(), 9, 3);
  for (int64_t row = 0; row < 3; ++row)
    for (int64_t i = 0; i < 17; ++i) EXPECT_EQ(out[row * 17 + i], (sampler.start(9, row) + i) % 251);
  EXPECT_EQ(out.back(), -1);
}

TEST_F(WindowSamplerTest, DependsOnSeedStepAndRowAlone) {
  const TokenFile file = tokens(100000);
  const WindowSampler a(file, 8, 5);
  const WindowSampler b(file, 8, 5);
  const WindowSampler other(file, 8, 6);
  std::set<int64_t> starts;
  int equal = 0;
  for (int64_t step = 19; step >= 0; --step)  // backwards: no hidden state
    for (int64_t row = 0; row < 4; ++row) {
      starts.insert(a.start(step, row));
      equal += a.start(step, row) == other.start(step, row);
    }
  for (int64_t step = 0; step < 20; ++step)
    for (int64_t row = 0; row < 4; ++row) EXPECT_EQ(b.start(step, row), a.start(step, row));
  EXPECT_GT(starts.size(), 75u);  // 80 draws of 99,992: 0.03 repeats are expected
  EXPECT_LT(equal, 3);
  // The very numbers, worked out apart from this code, so that a resumed run of a later version sees the same windows.
  EXPECT_EQ(WindowSampler(file, 8, 0).start(0, 0), 41569);
  EXPECT_EQ(a.start(9, 2), 3438);
}

TEST_F(WindowSamplerTest, EveryStartIsReachedEvenly) {
  const TokenFile file = tokens(20);
  const WindowSampler sampler(file, 9, 1);  // starts 0 .. 10
  const int draws = 4400;
  std::vector<int> counts(11);
  for (int step = 0; step < draws; ++step) ++counts.at(sampler.start(step, 0));
  // Binomial with p = 1/11: six standard deviations.
  for (const int count : counts) EXPECT_NEAR(count, draws / 11.0, 6 * std::sqrt(draws * (1.0 / 11) * (10.0 / 11)));
}

TEST_F(WindowSamplerTest, ShortestFile) {
  const TokenFile file = tokens(10);
  const WindowSampler exact(file, 9, 1);
  for (int step = 0; step < 20; ++step) EXPECT_EQ(exact.start(step, 0), 0);
  EXPECT_EQ(error_of([&] { WindowSampler(file, 10, 1); }),
            path("t.bin") + ": a window of 10 tokens and its targets take 10 + 1 tokens, but there are only 10");
  EXPECT_EQ(error_of([&] { WindowSampler(file, 0, 1); }), "window sampler: length must be at least 1, got 0");
}

}  // namespace
}  // namespace longspan
