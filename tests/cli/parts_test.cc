// Parts of the program that can be tested without running it.
#include <gtest/gtest.h>

#include "longspan/base/check.h"
#include "longspan/text/utf8.h"
#include "tools/longspan/environment.h"
#include "tools/longspan/peak_memory.h"
#include "tools/longspan/settings.h"
#include "tools/longspan/timing.h"

namespace longspan::tool {
namespace {

TEST(Settings, ReachIntoObjects) {
  Json config = {{"train", {{"steps", 3}}}};
  apply_setting(config, "train.steps=5");
  apply_setting(config, "model.attention_options.r=32");
  apply_setting(config, "model.attention=lavo");
  apply_setting(config, "model.tied=true");
  apply_setting(config, "model.name=a=b");
  EXPECT_EQ(config["train"]["steps"], "5") << "the field's table makes it a number";
  EXPECT_EQ(config["model"]["attention_options"]["r"], "32");
  EXPECT_EQ(config["model"]["attention"], "lavo");
  EXPECT_EQ(config["model"]["tied"], true);
  EXPECT_EQ(config["model"]["name"], "a=b");
  apply_setting(config, "train.steps=7");
  EXPECT_EQ(config["train"]["steps"], "7") << "the last one counts";
  apply_setting(config, R"(train={"batch": 2})");
  EXPECT_EQ(config["train"], (Json{{"batch", 2}})) << "a group takes the place of what stood there";
  apply_setting(config, "train.steps=5");
  apply_setting(config, "train.batch=null");
  EXPECT_TRUE(config["train"]["batch"].is_null());
  const std::string deep = "model=" + std::string(70, '[') + std::string(70, ']');
  for (const std::string& wrong : {std::string(R"(model={"layers": 1, "layers": 2})"), deep})
    EXPECT_THROW(apply_setting(config, wrong), InputError) << wrong;
  for (const char* bytes : {"train.\xFF=3", "model.attention=\xC3", "\xED\xA0\x80.steps=3"})
    EXPECT_THROW(apply_setting(config, bytes), InputError) << bytes;
  for (const char* wrong : {"", "steps", "=3", "train..steps=3", "train.steps.deep=3", "train.=3"})
    EXPECT_THROW(apply_setting(config, wrong), InputError) << wrong;
}

TEST(Settings, Lists) {
  EXPECT_EQ(parse_lengths("--lengths", "1,65536"), (std::vector<int64_t>{1, 65536}));
  for (const char* wrong : {"", ",", "1,", "0", "-3", "1k", "99999999999999999999"})
    EXPECT_THROW(parse_lengths("--lengths", wrong), InputError) << wrong;
  EXPECT_EQ(parse_names("--pass", "a,b"), (std::vector<std::string>{"a", "b"}));
  EXPECT_THROW(parse_names("--pass", "a,"), InputError);
}

TEST(Environment, CommandsCanBePasted) {
  EXPECT_EQ(shell_line({"longspan", "train", "--set", "train.steps=3"}), "longspan train --set train.steps=3");
  EXPECT_EQ(shell_line({"my text.txt", "", "it's", "$HOME"}), R"('my text.txt' '' 'it'\''s' '$HOME')");
}

TEST(Environment, SaysWhatItKnows) {
  const Environment environment = this_environment(3, "2.0");
  EXPECT_GE(environment.cores, 1);
  EXPECT_GT(environment.memory_bytes, 0);
  EXPECT_EQ(to_json(environment)["torch"], "2.0");
  EXPECT_EQ(to_json(environment)["threads"], 3);
  for (const auto& [name, value] : facts(environment)) EXPECT_NE(value, "") << name;
  EXPECT_FALSE(environment.simd.empty());
}

TEST(PeakMemory, CountsWhatIsHeldAtTheSameTime) {
  constexpr std::size_t kSize = std::size_t{64} << 20;
  const auto touch = [] {
    std::vector<char> block(kSize);
    for (std::size_t i = 0; i < kSize; i += 4096) block[i] = static_cast<char>(i);
    return block[kSize / 2];
  };
  const auto one = peak_memory([&] {
    touch();
    touch();
  });
  if (!one) GTEST_SKIP() << "the system does not say";
  // The kernel counts pages in batches of 64 a thread; the rest of the process may move a little.
  constexpr double kSlack = 4 << 20;
  EXPECT_NEAR(static_cast<double>(*one), static_cast<double>(kSize), kSlack) << "one after the other";
  const auto two = peak_memory([&] {
    const std::vector<char> held(kSize, 'x');
    touch();
  });
  EXPECT_NEAR(static_cast<double>(*two), 2.0 * static_cast<double>(kSize), kSlack);
}

TEST(Timing, TakesTurnsUntilEveryoneIsSatisfied) {
  std::string calls;
  TimingPlan plan;
  plan.minimum_seconds = 0;
  plan.minimum_repeats = 3;
  const auto timings = time_alternating({[&] { calls += 'a'; }, [&] { calls += 'b'; }}, plan);
  EXPECT_EQ(calls, "abababab");  // a warm-up and three rounds
  ASSERT_EQ(timings.size(), 2u);
  EXPECT_EQ(timings[0].repeats, 3);
  plan.warm_up = false;
  plan.minimum_repeats = 0;
  calls.clear();
  time_alternating({[&] { calls += 'a'; }}, plan);
  EXPECT_EQ(calls, "a");  // a result needs one call
}

TEST(Timing, MedianAndQuartiles) {
  const Timing timing = summarize({5, 1, 2, 100, 3});
  EXPECT_EQ(timing.seconds, 3);
  EXPECT_DOUBLE_EQ(timing.spread, (5.0 - 2.0) / 3.0);
}

}  // namespace
}  // namespace longspan::tool
