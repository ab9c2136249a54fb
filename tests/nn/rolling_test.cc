// Rolling a text round changes nothing for patterns that treat all places alike, and for a pattern that is rolled too.
#include "longspan/nn/rolling.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "longspan/nn/diffuser.h"
#include "longspan/ops/diffusion/diffusion.h"
#include "longspan/patterns/build.h"
#include "support.h"

namespace longspan::nn {
namespace {

std::vector<double> errors(const FieldValues& options, const at::Tensor& x, const std::vector<int64_t>& shifts) {
  const auto module = make("diffuser", Pattern::noncausal_self, options);
  return rolling_errors([&](const at::Tensor& rolled, int64_t) { return module->forward(rolled); }, x, shifts);
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

TEST(Rolling, TokensStandInARing) {
  const Rolling own{.shift = 13};
  EXPECT_EQ(own.in_front(10), 3);
  EXPECT_EQ(own.slot_of(0, 10), 3);
  EXPECT_EQ(own.slot_of(9, 10), 2);
  EXPECT_EQ(own.in_front(0), 0);
  // 16 slots for 10 tokens: those behind slot 15 come to the front.
  EXPECT_EQ((Rolling{.shift = 5, .slots = 16}.in_front(10)), 0);
  EXPECT_EQ((Rolling{.shift = 6, .slots = 16}.in_front(10)), 0);
  EXPECT_EQ((Rolling{.shift = 8, .slots = 16}.in_front(10)), 2);
  EXPECT_EQ((Rolling{.shift = 8, .slots = 16}.slot_of(8, 10)), 0);
  EXPECT_EQ((Rolling{.shift = 15, .slots = 16}.in_front(10)), 9);
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
    const double bound = layer_bound(*fixed, x, 6 * n);
    const at::Tensor expected = fixed->forward(x), moved = rolled->forward(x.roll(shift, 1));
    EXPECT_TRUE(close(moved.roll(-shift, 1), expected, bound)) << name;
    // The module rolls its pattern itself.
    EXPECT_FALSE(close(fixed->forward(x.roll(shift, 1)), moved, 1e-3)) << name;
    auto& diffuser = dynamic_cast<DiffuserAttention&>(*fixed);
    diffuser.roll_pattern(PatternRoll::all, {.shift = shift});
    EXPECT_TRUE(close(fixed->forward(x.roll(shift, 1)), moved, bound)) << name;
    diffuser.roll_pattern(PatternRoll::none, {});
    EXPECT_TRUE(fixed->forward(x).equal(expected)) << name;
  }
  std::filesystem::remove(path);
}

// Tokens that saw all still do, the others meet those that stand beside them now.
TEST(Rolling, WithTheGlobalTokens) {
  const int64_t n = 40, shift = 7;
  const at::Tensor x = normal({1, n, 16}, 1);
  const auto listed = [&](const std::string& tokens) {
    return make("diffuser", Pattern::noncausal_self,
                {{"pattern", "window_band+global"},
                 {"k", number(1)},
                 {"g", number(2)},
                 {"global_choice", "list"},
                 {"global_tokens", tokens}});
  };
  const auto module = listed("3,35");
  const double bound = layer_bound(*module, x, 6 * n);
  const at::Tensor expected = listed("10,2")->forward(x);
  auto& diffuser = dynamic_cast<DiffuserAttention&>(*module);
  diffuser.roll_pattern(PatternRoll::global_tokens, {.shift = shift});
  EXPECT_TRUE(close(module->forward(x), expected, bound));
  // Those of the text are given by the places that they had.
  const at::Tensor global = at::zeros({1, n}, at::kBool);
  global[0][3] = global[0][35] = true;
  EXPECT_TRUE(close(module->forward(x, {.global_tokens = global}), expected, bound));
}

TEST(Rolling, RefusesPatternsThatCannotBeRolled) {
  const auto causal = make("diffuser", Pattern::causal_self);
  expect_input_error([&] { dynamic_cast<DiffuserAttention&>(*causal).roll_pattern(PatternRoll::all, {.shift = 1}); },
                     "diffuser: a causal pattern cannot be rolled: its text has a beginning");
  const auto window = make("diffuser", Pattern::noncausal_self, {{"pattern", "window_band"}});
  expect_input_error(
      [&] { dynamic_cast<DiffuserAttention&>(*window).roll_pattern(PatternRoll::global_tokens, {.shift = 1}); },
      "diffuser: the pattern window_band has no global tokens to be rolled");
}

}  // namespace
}  // namespace longspan::nn
