// Rolling a text round changes nothing for patterns that treat all places alike, and for a pattern that is rolled too.
#include "longspan/nn/rolling.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "longspan/ops/diffusion/diffusion.h"
#include "longspan/patterns/build.h"
#include "support.h"

namespace longspan::nn {
namespace {

FieldValue number(int64_t value) { return value; }

std::vector<double> errors(const FieldValues& options, const at::Tensor& x, const std::vector<int64_t>& shifts) {
  const auto module = make("diffuser", Pattern::noncausal_self, options);
  return rolling_errors([&](const at::Tensor& rolled) { return module->forward(rolled); }, x, shifts);
}

/// Two evaluations of a layer apart, relative to an output that is no smaller than 1.
double bound(const at::Tensor& x) {
  return layer_bound(*make("diffuser", Pattern::noncausal_self), x, 6 * x.size(1)) *
         std::sqrt(static_cast<double>(x.numel()));
}

TEST(Rolling, ShiftsDouble) {
  EXPECT_EQ(rolling_shifts(1), (std::vector<int64_t>{0}));
  EXPECT_EQ(rolling_shifts(40), (std::vector<int64_t>{0, 1, 2, 4, 8, 16}));
  EXPECT_EQ(rolling_shifts(64).back(), 32);
}

TEST(Rolling, PatternsThatTreatAllPlacesAlike) {
  const at::Tensor x = normal({1, 48, 16}, 1);
  for (const FieldValues& options :
       {FieldValues{{"pattern", "full"}}, {{"pattern", "uniform"}, {"uniform_r", number(5)}}})
    for (const double error : errors(options, x, rolling_shifts(48))) EXPECT_LE(error, bound(x));
}

TEST(Rolling, BlocksRepeat) {
  const at::Tensor x = normal({1, 48, 16}, 1);
  const std::vector<double> got = errors({{"pattern", "window_block"}, {"b", number(8)}}, x, {0, 1, 3, 8, 9, 11, 16});
  EXPECT_EQ(got[0], 0);
  EXPECT_GT(got[1], 1e-3);
  EXPECT_GT(got[2], 1e-3);
  EXPECT_NEAR(got[4], got[1], bound(x)) << "the shift counts within a block";
  EXPECT_NEAR(got[5], got[2], bound(x));
  EXPECT_LE(got[3], bound(x));
  EXPECT_LE(got[6], bound(x));
  EXPECT_GT(errors({{"pattern", "window_band+global"}, {"k", number(2)}, {"g", number(2)}}, x, {5})[0], 1e-3);
}

// The pattern rolled with the text is the same attention.
TEST(Rolling, WithThePattern) {
  const int64_t n = 40, shift = 7;
  const at::Tensor x = normal({1, n, 16}, 1);
  const auto path = std::filesystem::temp_directory_path() / str_cat("longspan-rolled-", ::getpid(), ".txt");
  for (const char* name : {"window_overlap+global+random", "bigbird", "strided"}) {
    FieldValues options;
    if (std::string(name) == "bigbird") options = {{"b", number(4)}};
    if (std::string(name) == "strided") options = {{"l", number(6)}};
    if (std::string(name) == "window_overlap+global+random")
      options = {{"w", number(4)}, {"g", number(2)}, {"r", number(2)}};
    const patterns::Csr pairs = patterns::build_pattern(patterns::pattern_options(name, options), n).csr();
    {
      std::ofstream file(path);
      for (int64_t i = 0; i < n; ++i)
        for (const int64_t j : pairs.row(i)) file << (i + shift) % n << ' ' << (j + shift) % n << '\n';
    }
    options["pattern"] = name;
    const auto fixed = make("diffuser", Pattern::noncausal_self, options);
    const auto rolled = make("diffuser", Pattern::noncausal_self, {{"pattern", "edges"}, {"edges", path.string()}});
    const at::Tensor back = rolled->forward(x.roll(shift, 1)).roll(-shift, 1);
    EXPECT_TRUE(close(back, fixed->forward(x), layer_bound(*fixed, x, 6 * n))) << name;
  }
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace longspan::nn
