#include "longspan/train/options.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/io/scratch_folder.h"

namespace longspan::train {
namespace {

TEST(Schedule, WarmsUpThenFollowsACosine) {
  TrainOptions options;
  options.steps = 110;
  options.warmup = 10;
  options.learning_rate = 1;
  options.min_lr_ratio = 0.1;
  EXPECT_DOUBLE_EQ(learning_rate(options, 1), 0.1);
  EXPECT_DOUBLE_EQ(learning_rate(options, 5), 0.5);
  EXPECT_DOUBLE_EQ(learning_rate(options, 10), 1);
  EXPECT_DOUBLE_EQ(learning_rate(options, 60), 0.55);  // the middle of the cosine
  EXPECT_DOUBLE_EQ(learning_rate(options, 35), 0.1 + 0.9 * 0.5 * (1 + std::sqrt(0.5)));
  EXPECT_DOUBLE_EQ(learning_rate(options, 110), 0.1);
  for (int64_t step = 11; step <= 110; ++step)
    EXPECT_LT(learning_rate(options, step), learning_rate(options, step - 1));
}

TEST(Schedule, TheInverseRootFallsFromTheEndOfTheWarmUpToItsFloor) {
  TrainOptions options;
  options.schedule = Schedule::inverse_sqrt;
  options.steps = 1000;
  options.warmup = 16;
  options.learning_rate = 2;
  options.min_lr_ratio = 0.2;
  EXPECT_DOUBLE_EQ(learning_rate(options, 4), 0.5);
  EXPECT_DOUBLE_EQ(learning_rate(options, 16), 2);
  EXPECT_DOUBLE_EQ(learning_rate(options, 64), 1);
  EXPECT_DOUBLE_EQ(learning_rate(options, 256), 0.5);
  EXPECT_DOUBLE_EQ(learning_rate(options, 400), 0.4);  // sqrt(16 / 400) = 0.2
  EXPECT_DOUBLE_EQ(learning_rate(options, 1000), 0.4);
  options.min_lr_ratio = 0;
  EXPECT_DOUBLE_EQ(learning_rate(options, 1000), 2 * std::sqrt(0.016));
  const double before = learning_rate(options, 100);
  options.steps = 5000;
  EXPECT_DOUBLE_EQ(learning_rate(options, 100), before) << "the length of the run has no part in it";
  options.warmup = 0;
  EXPECT_DOUBLE_EQ(learning_rate(options, 1), 2);
  EXPECT_DOUBLE_EQ(learning_rate(options, 4), 1);
}

TEST(Schedule, AConstantStaysAfterTheWarmUp) {
  TrainOptions options;
  options.schedule = Schedule::constant;
  options.steps = 100;
  options.warmup = 10;
  options.learning_rate = 3;
  EXPECT_DOUBLE_EQ(learning_rate(options, 5), 1.5);
  EXPECT_DOUBLE_EQ(learning_rate(options, 10), 3);
  EXPECT_DOUBLE_EQ(learning_rate(options, 100), 3);
}

TEST(Schedule, EdgesAreDefined) {
  TrainOptions options;
  options.warmup = 0;
  options.steps = 1;
  EXPECT_TRUE(std::isfinite(learning_rate(options, 1)));
  options.warmup = 50;  // longer than the run
  options.steps = 10;
  EXPECT_DOUBLE_EQ(learning_rate(options, 10), options.learning_rate * 0.2);
}

TEST(TrainOptions, JsonRoundTripAndErrors) {
  TrainOptions options;
  options.steps = 12;
  options.autocast = Autocast::none;
  options.learning_rate = 1e-3;
  TrainOptions back;
  merge_json(back, parse_json(to_json(options).dump(), "test"));
  EXPECT_EQ(train_fields().values(back), train_fields().values(options));
  EXPECT_EQ(error_of([&] { merge_json(back, parse_json(R"({"stepz": 3})", "test")); }),
            "train: unknown field 'stepz'; did you mean 'steps'?");
  EXPECT_EQ(error_of([&] { merge_json(back, parse_json(R"({"batch": 0})", "test")); }),
            "train: batch must be an integer from 1 to 1048576, got 0");
  EXPECT_EQ(error_of([&] { merge_json(back, parse_json(R"({"steps": 0})", "test")); }),
            "train: steps must be an integer from 1 to 1000000000000, got 0");
  merge_json(back, parse_json(R"({"seed": 9007199254740992})", "test"));
  EXPECT_EQ(back.seed, int64_t{1} << 53);
  EXPECT_NE(error_of([&] { merge_json(back, parse_json(R"({"seed": 9007199254740994})", "test")); }), "");
  EXPECT_EQ(error_of([&] { merge_json(back, parse_json(R"({"autocast": "fp8"})", "test")); }),
            "train: autocast must be one of none, bf16, auto, got fp8");
}

}  // namespace
}  // namespace longspan::train
