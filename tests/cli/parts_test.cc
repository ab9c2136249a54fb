// Parts of the program that can be tested without running it.
#include <gtest/gtest.h>

#include "longspan/base/check.h"
#include "tools/longspan/demo/page.h"
#include "tools/longspan/demo/results.h"
#include "tools/longspan/settings.h"
#include "tools/longspan/timing.h"
#include "tools/longspan/utf8.h"

namespace longspan::tool {
namespace {

TEST(Utf8, HoldsBackOnlyUnfinishedCharacters) {
  EXPECT_EQ(whole_characters(""), 0u);
  EXPECT_EQ(whole_characters("abc"), 3u);
  EXPECT_EQ(whole_characters("a\xC3"), 1u);
  EXPECT_EQ(whole_characters("a\xC3\xA9"), 3u);
  EXPECT_EQ(whole_characters("\xE2\x82"), 0u);
  EXPECT_EQ(whole_characters("\xE2\x82\xAC"), 3u);
  EXPECT_EQ(whole_characters("x\xF0\x9F\x98"), 1u);
  EXPECT_EQ(whole_characters("x\xF0\x9F\x98\x80"), 5u);
  EXPECT_EQ(whole_characters("\x80\x80\x80\x80"), 4u);  // no UTF-8: passed through
  EXPECT_EQ(whole_characters("\xFF\x41"), 2u);
}

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

/// LAVO and softmax at 1,024 and 65,536; softmax on one of two blocks at the longer length.
DemoResults results(double lavo_change, double softmax_change, double ablated_change) {
  DemoResults r;
  const auto add = [&](const std::string& name, int64_t length, std::map<int64_t, double> blocks) {
    QualityResult q;
    q.attention = name;
    q.length = length;
    q.blocks = static_cast<int64_t>(blocks.size());
    for (const auto& [offset, bits] : blocks) q.bits_per_byte += bits / static_cast<double>(blocks.size());
    q.by_block = std::move(blocks);
    r.qualities.push_back(std::move(q));
  };
  add("lavo", 1024, {{70000, 2.0}, {90000, 3.0}});
  add("lavo", 65536, {{70000, 2.0 + lavo_change}, {90000, 3.0 + lavo_change}});
  add("local", 1024, {{70000, 2.0}, {90000, 3.0}});
  add("softmax", 1024, {{70000, 2.0}, {90000, 3.0}});
  add("softmax", 65536, {{70000, 2.0 + softmax_change}});
  r.ablations = {{"zero", 0, 1024, 2.5 + ablated_change}};
  r.compressors = {{"gzip -9", 2.9}, {"xz -9", 2.4}};
  return r;
}

DemoPlan plan() {
  DemoPlan p;
  p.lengths = {1024, 65536};
  p.blocks = 2;
  p.ablation_lengths = {1024};
  p.block_limits = {{{"softmax", 65536}, 1}};
  p.contenders = {
      {"lavo", "LAVO", {}, 1e-3}, {"local", "local window", {}, 1e-3}, {"softmax", "softmax + RoPE", {}, 1e-3}};
  return p;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(DemoSentences, ComparesOnTheBlocksThatWereMeasured) {
  const DemoPlan p = plan();
  const DemoResults r = results(0.001, 0.0, 0.0);
  // Over all blocks softmax would seem to fall from 2.5 to 2.0.
  const std::string softmax = context_sentence(p, r, p.contenders[2]);
  EXPECT_TRUE(contains(softmax, "from 2.000 to 2.000")) << softmax;
  EXPECT_TRUE(contains(softmax, "(on 1 block)")) << softmax;
  EXPECT_TRUE(contains(softmax, "flat")) << softmax;
  EXPECT_TRUE(contains(context_sentence(p, r, p.contenders[0]), "flat"));
  EXPECT_TRUE(contains(context_sentence(p, results(0, 1.5, 0), p.contenders[2]), "collapses"));
  EXPECT_TRUE(contains(context_sentence(p, results(0.1, 0, 0), p.contenders[0]), "gets worse"));
  EXPECT_TRUE(contains(context_sentence(p, results(-0.1, 0, 0), p.contenders[0]), "helps"));
}

TEST(DemoSentences, ClaimNothingForTheMemoryThatWasNotMeasured) {
  const DemoPlan p = plan();
  EXPECT_TRUE(contains(memory_sentence(p, results(0, 0, 0.0002)), "nothing shows that the memory contributed"));
  EXPECT_TRUE(contains(memory_sentence(p, results(0, 0, 0.3)), "contributed"));
  EXPECT_FALSE(contains(memory_sentence(p, results(0, 0, 0.3)), "nothing"));
  EXPECT_TRUE(contains(memory_sentence(p, results(0, 0, -0.3)), "harm"));
  EXPECT_EQ(memory_sentence(p, DemoResults()), "");
  EXPECT_TRUE(contains(local_sentence(p, results(0, 0, 0)), "no difference"));
}

TEST(DemoSentences, CompressorsSplitTheModelsHonestly) {
  const DemoPlan p = plan();
  EXPECT_TRUE(contains(compressor_sentence(p, results(0, 0, 0)), "Not below: LAVO, local window, softmax + RoPE"));
  DemoResults better = results(0, 0, 0);
  better.compressors = {{"gzip -9", 2.9}, {"xz -9", 2.6}};
  EXPECT_TRUE(contains(compressor_sentence(p, better),
                       "Below that with 1K tokens of context: LAVO, local window, softmax + RoPE."));
}

TEST(DemoResults, GrowthAndExtrapolation) {
  DemoResults r;
  for (const int64_t n : {1024, 2048, 4096, 8192}) {
    r.forward_speed.push_back({"lavo", n, 2.0});
    if (n <= 4096) r.forward_speed.push_back({"softmax", n, 1.0 + static_cast<double>(n) / 1024});
  }
  EXPECT_NEAR(*growth(r.forward_speed, "lavo", 1024), 1.0, 1e-12);
  EXPECT_FALSE(growth(r.forward_speed, "lavo", 8192).has_value());
  const auto beyond = extrapolated_softmax(r);
  ASSERT_EQ(beyond.size(), 1u);
  EXPECT_EQ(beyond[0].first, 8192);
  EXPECT_NEAR(beyond[0].second, 9.0, 1e-12);
}

}  // namespace
}  // namespace longspan::tool
