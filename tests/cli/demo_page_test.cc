// What the demo makes of its numbers, without running it.
#include <gtest/gtest.h>

#include <cmath>

#include "longspan/base/check.h"
#include "tools/longspan/demo/charts.h"
#include "tools/longspan/demo/clock.h"
#include "tools/longspan/demo/memory_page.h"
#include "tools/longspan/demo/metrics.h"
#include "tools/longspan/demo/page.h"

namespace longspan::tool {
namespace {

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
  const auto beyond = extrapolated_softmax(r.forward_speed);
  ASSERT_EQ(beyond.size(), 1u);
  EXPECT_EQ(beyond[0].first, 8192);
  EXPECT_NEAR(beyond[0].second, 9.0, 1e-12);
}

TEST(DemoResults, BreakEvenIsWhereTheLinesCross) {
  // LAVO: 8 a token at any length; softmax: n / 16, so both cost 8 at 128.
  Costs costs;
  for (const int64_t n : {16, 64, 256, 1024}) {
    costs.push_back({"lavo", n, 8});
    costs.push_back({"softmax", n, static_cast<double>(n) / 16});
  }
  const auto even = break_even(costs, "lavo");
  ASSERT_TRUE(even.has_value());
  EXPECT_EQ(even->kind, BreakEven::Kind::at);
  // Straight lines in the logarithms are met exactly, up to the rounding of a few logarithms.
  EXPECT_NEAR(even->length, 128, 128 * 32 * std::numeric_limits<double>::epsilon());
  EXPECT_EQ(even->below, 64);
  EXPECT_EQ(even->above, 256);
  EXPECT_TRUE(contains(break_even_sentence(costs, "X"), "X: LAVO breaks even with softmax at about 128 tokens"));
  EXPECT_FALSE(break_even(costs, "local").has_value());
  EXPECT_EQ(break_even_sentence({}, "X"), "");
}

TEST(DemoResults, BreakEvenThatIsNone) {
  const Costs cheaper = {{"lavo", 16, 1}, {"softmax", 16, 2}, {"lavo", 64, 1}, {"softmax", 64, 1}};
  EXPECT_EQ(break_even(cheaper, "lavo")->kind, BreakEven::Kind::always) << "no more than counts";
  EXPECT_TRUE(contains(break_even_sentence(cheaper, "X"), "from the shortest length measured (16 tokens)"));
  const Costs dearer = {{"lavo", 16, 1}, {"softmax", 16, 2}, {"lavo", 64, 3}, {"softmax", 64, 2}};
  EXPECT_EQ(break_even(dearer, "lavo")->kind, BreakEven::Kind::never) << "cheaper once, but not at the end";
  EXPECT_TRUE(contains(break_even_sentence(dearer, "X"), "more than softmax"));
  // Two crossings: the last one counts.
  const Costs twice = {{"lavo", 1, 1},    {"softmax", 1, 2}, {"lavo", 2, 2},
                       {"softmax", 2, 1}, {"lavo", 4, 1},    {"softmax", 4, 2}};
  EXPECT_EQ(break_even(twice, "lavo")->below, 2);
  DemoResults r;
  r.training_speed = cheaper;
  r.training_memory = dearer;
  const Json metrics = demo_metrics(plan(), r);
  EXPECT_EQ(metrics["break_even"]["time_forward_backward"]["lavo"], 16);
  EXPECT_TRUE(metrics["break_even"]["memory_forward_backward"]["lavo"].is_null());
}

TrainingResult training(int64_t seed, double loss) {
  TrainingResult t;
  t.attention = "lavo";
  t.seed = seed;
  for (int step = 1; step <= 200; ++step) t.curve.add(1000.0 * step, loss + (step % 2 == 0 ? 0.5 : -0.5));
  return t;
}

TEST(DemoCharts, SpreadIsOfTheSeedsOrOfTheSteps) {
  DemoPlan p = plan();
  DemoResults r;
  r.trainings = {training(0, 2)};
  report::Series series = training_chart(p, r).series.at(0);
  EXPECT_EQ(series.name, "LAVO");
  ASSERT_FALSE(series.band.empty());
  EXPECT_GT(series.band[0].high, 2.4) << "steps differ by 1";
  EXPECT_TRUE(contains(training_caption(p, r), "one seed only"));
  p.seeds = {0, 1};
  r.trainings.push_back(training(1, 4));
  series = training_chart(p, r).series.at(0);
  EXPECT_DOUBLE_EQ(series.points[0].second, 3);
  EXPECT_DOUBLE_EQ(series.band[0].low, 2);
  EXPECT_DOUBLE_EQ(series.band[0].high, 4);
  EXPECT_TRUE(contains(training_caption(p, r), "2 seeds"));
}

TEST(DemoCharts, CostsHaveTheirUnitAndTheirBreakEven) {
  const Costs costs = {
      {"lavo", 64, 2048}, {"softmax", 64, 1024}, {"lavo", 256, 2048}, {"softmax", 256, 4096}, {"lavo", 1024, 2048}};
  const report::LineChart chart = cost_chart(plan(), costs, {"State", "KiB", 1024});
  EXPECT_EQ(chart.series[0].points[0].second, 2);
  ASSERT_EQ(chart.series[2].extrapolated.size(), 1u);
  EXPECT_EQ(chart.series[2].extrapolated[0].second, 16) << "3 KiB more for every 192 tokens";
  ASSERT_EQ(chart.x_marks.size(), 1u);
  EXPECT_EQ(chart.x_marks[0].text, "break-even at about 128");
}

/// Two heads of two slots over four characters; the second head chooses.
MemoryLook look() {
  LayerView layer;
  layer.heads = layer.slots = layer.head_width = 2;
  layer.positions = 4;
  layer.reading = {0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, /**/ 1, 0, 1, 0, 0.25, 0.75, 1, 0};
  layer.contents.assign(16, 1.0);
  return {{layer}, {"a", "b", "c", "<"}};
}

TEST(DemoMemory, ThePageIsTintedByTheSlotReadMost) {
  const auto place = most_selective_head(look());
  ASSERT_TRUE(place.has_value());
  EXPECT_EQ(place->head, 1);
  const ReadPage page = read_page(look());
  ASSERT_EQ(page.runs.size(), 4u);
  EXPECT_EQ(page.runs[0].colour, 0) << "the slot read most often comes first";
  EXPECT_EQ(page.runs[2].colour, 1);
  EXPECT_EQ(page.runs[0].strength, 1);
  EXPECT_DOUBLE_EQ(page.runs[2].strength, std::log2(1.5)) << "of log2(2), the strongest";
  ASSERT_EQ(page.keys.size(), 2u);
  EXPECT_EQ(page.keys[0].meaning, "slot 0, read most at 75 % of the characters");
  EXPECT_TRUE(contains(reading_sentence(look()), "head 1 of layer 0"));
}

TEST(DemoMemory, LinesAreReflowed) {
  MemoryLook lines = look();
  const auto shown = [&](std::vector<std::string> labels) {
    lines.labels = std::move(labels);
    std::string out;
    for (const auto& run : read_page(lines).runs) out += run.text;
    return out;
  };
  EXPECT_EQ(shown({"a", "\n", "b", "\n"}), "a b ");
  EXPECT_EQ(shown({"a", "\n", "\n", "\n"}), "a\n\n");
  EXPECT_EQ(without_empty_lines("a\n\n\n\nb\nc"), "a\n\nb\nc");
}

TEST(DemoMemory, ThePictureAveragesOverColumns) {
  MemoryLook long_look = look();
  LayerView& layer = long_look.layers[0];
  layer.positions = 256;
  layer.reading.clear();
  for (int head = 0; head < 2; ++head)
    for (int t = 0; t < 256; ++t)
      for (int slot = 0; slot < 2; ++slot) layer.reading.push_back(t % 2 == slot ? 1 : 0);
  layer.contents.assign(2 * 256 * 2, 0.5);
  EXPECT_EQ(characters_per_column(long_look), 2);
  const auto picture = memory_picture(long_look);
  ASSERT_EQ(picture.maps.size(), 2u);
  EXPECT_EQ(picture.maps[0].columns, 128);
  for (const double value : picture.maps[0].values) ASSERT_EQ(value, 0) << "each slot half of the time: evenly";
  for (const double value : picture.maps[1].values) ASSERT_EQ(value, 0.5);
}

TEST(DemoMemory, NothingToLookAt) {
  EXPECT_FALSE(most_selective_head({}).has_value());
  EXPECT_TRUE(read_page({}).runs.empty());
  EXPECT_EQ(reading_sentence({}), "");
}

TEST(DemoPage, CommandsRepeatWhatWasMeasured) {
  DemoPlan p = plan();
  p.out = "my demo";
  p.training_speed_lengths = {64, 1024};
  DemoResults r;
  r.command = {"build/bin/longspan", "demo", "--out", "my demo"};
  const auto commands = repeating_commands(p, r);
  EXPECT_EQ(commands[0].second, "build/bin/longspan demo --out 'my demo'");
  EXPECT_EQ(commands[1].second,
            "build/bin/longspan eval 'my demo/models/lavo' --data 'my demo/data' --lengths 1024,65536");
  EXPECT_TRUE(contains(commands[2].second, "--lengths 64,1024")) << commands[2].second;
}

TEST(DemoPage, SaysNothingOfWhatWasNotMeasured) {
  DemoPlan p = plan();
  p.lengths.clear();
  p.ablation_lengths.clear();
  const std::string html = demo_page(p, DemoResults()).html();
  for (const char* wrong : {"nan", "inf ", "tinted\">", "A sample"}) EXPECT_FALSE(contains(html, wrong)) << wrong;
}

TEST(DemoClock, ShareOfTheWork) {
  DemoClock clock(100);
  EXPECT_EQ(clock.left(0), "") << "nothing is known before anything is done";
  clock.begin("a", 10);
  clock.begin("b", 20);
  clock.end();
  ASSERT_EQ(clock.stages().size(), 2u);
  EXPECT_EQ(clock.stages()[0].first, "a");
  DemoPlan p = plan();
  p.blocks = 16;
  double parts = speed_work(p) + stream_work(p);
  for (const Contender& contender : p.contenders) parts += training_work(p, contender) + evaluation_work(p, contender);
  EXPECT_DOUBLE_EQ(whole_work(p), parts);
}

}  // namespace
}  // namespace longspan::tool
