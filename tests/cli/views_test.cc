// What the program makes of numbers and messages, without running it.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tools/longspan/ablations/generated_text.h"
#include "tools/longspan/ablations/results.h"
#include "tools/longspan/ablations/rows.h"
#include "tools/longspan/inspect/lavo_view.h"
#include "tools/longspan/torch_error.h"

namespace longspan::tool {
namespace {

/// One head of two slots and a window of two over three positions.
LayerView view() {
  LayerView layer;
  layer.heads = 1;
  layer.positions = 3;
  layer.slots = layer.window = layer.head_width = 2;
  layer.reading = {0.5, 0.5, 0.75, 0.25, 1, 0};
  layer.contents = {1, -1, 2, -2, 3, -3};
  layer.local = {0, 1, 0.25, 0.75, 0.5, 0.5};
  layer.basis = {2, 0, 0.5, 2};
  layer.gain = 2;
  return layer;
}

TEST(LavoView, NumbersOfALayer) {
  EXPECT_EQ(departure_from_orthogonality(view()), 1.0);  // rows (2, 0), (1/2, 2): product 1, and 4.25 against 4
  EXPECT_EQ(mean_reading(view(), 0), (std::vector<double>{0.75, 0.25}));
  const double middle = -0.75 * std::log2(0.75) - 0.25 * std::log2(0.25);
  EXPECT_DOUBLE_EQ(reading_entropy(view(), 0), (1 + middle + 0) / 3) << "a weight of 0 adds nothing";
  EXPECT_EQ(mean_local(view(), 0), (std::vector<double>{0.375, 0.625})) << "the first position has half a window";
}

TEST(LavoView, JsonHasEveryNumberInItsPlace) {
  const Json json = to_json(view(), 4);
  EXPECT_EQ(json["layer"], 4);
  EXPECT_EQ(json["reading"][0][1], (Json{0.75, 0.25}));
  EXPECT_EQ(json["contents"][0][2][1], -3.0);
  EXPECT_EQ(json["local"][0][1][0], 0.25);
  EXPECT_EQ(json["basis"][0][1], (Json{0.5, 2.0}));
}

TEST(LavoView, PictureHasAMapOfEachKindAndTheText) {
  const auto picture = lavo_picture({view(), view()}, "model", {"a", "b", "c"});
  ASSERT_EQ(picture.maps.size(), 6u);
  const report::HeatMap& reading = picture.maps[0];
  EXPECT_EQ(reading.rows, 2);
  EXPECT_EQ(reading.columns, 3);
  EXPECT_EQ(reading.labels.size(), 3u);
  EXPECT_EQ(reading.values[0], 0) << "read evenly";
  EXPECT_DOUBLE_EQ(reading.values[1], std::log2(1.5)) << "slot 0 at position 1";
  EXPECT_EQ(reading.values[2], 1) << "read twice as much as evenly";
  EXPECT_TRUE(std::isinf(reading.values[5])) << "never read: full colour";
  EXPECT_EQ(picture.maps[1].values, (std::vector<double>{1, 2, 3, -1, -2, -3}));
  LayerView without_local = view();
  without_local.local.clear();
  EXPECT_EQ(lavo_picture({without_local}, "model", {"a", "b", "c"}).maps.size(), 2u);
}

TEST(TorchError, SaysWhatAPersonCanUse) {
  const auto memory = report_torch_error(
      "[enforce fail at alloc_cpu.cpp:118] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate "
      "2199023255552 bytes. Error code 12 (Cannot allocate memory)\nframe #0");
  EXPECT_EQ(memory.line, "out of memory: 2.0 TiB were asked for in one piece");
  EXPECT_EQ(memory.status, exit_failed);
  const auto size = report_torch_error("Storage size calculation overflowed with sizes=[4611686018427387904, 64]");
  EXPECT_EQ(size.line, "the sizes asked for are beyond what a tensor can have");
  EXPECT_EQ(size.status, exit_wrong_input);
  EXPECT_EQ(report_torch_error("[enforce fail at x.cpp:3] a == b. What happened\nmore").line, "What happened");
  EXPECT_EQ(report_torch_error("plain").line, "plain");
}

TEST(Ablations, RowsDifferAndEachChangesSomething) {
  std::set<std::string> names;
  std::set<FieldValues> options;
  for (const AblationRow& row : ablation_rows(32)) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_TRUE(options.insert(row.options).second) << row.name;
  }
  EXPECT_TRUE(ablation_rows(32).front().options.empty());
}

TEST(Ablations, DifferencesArePairedBySeed) {
  const AblationResult full{{"full", {}}, {{0, 10, 2.0, 2.5, 1}, {1, 10, 3.0, 3.25, 1}}};
  const AblationResult other{{"other", {{"epe", false}}}, {{0, 8, 2.5, {}, 1}, {1, 8, 3.0, {}, 1}}};
  EXPECT_EQ(other.difference(full), 0.25);
  EXPECT_EQ(full.memory_effect(), 0.375);
  EXPECT_FALSE(other.memory_effect().has_value());
  const auto table = ablation_table({full, other});
  EXPECT_EQ(table.rows[1][2], "+0.2500");
  EXPECT_EQ(table.rows[1][3], "-");
  EXPECT_EQ(table.rows[1][6], "2.5000 to 3.0000");
  EXPECT_EQ(to_json(other, full)["options"], (Json{{"epe", false}}));
}

TEST(Ablations, TheGeneratedTextIsTheSameForASeed) {
  const std::string text = generated_text(20000, 1);
  EXPECT_EQ(text.size(), 20000u);
  EXPECT_EQ(text, generated_text(20000, 1));
  EXPECT_NE(text, generated_text(20000, 2));
  std::set<std::string> words;
  std::string document = text.substr(0, text.find("\n\n"));
  for (std::size_t at = 0; at < document.size();) {
    const std::size_t end = std::min(document.find_first_of(" \n", at), document.size());
    words.insert(document.substr(at, end - at));
    at = end + 1;
  }
  EXPECT_LE(words.size(), 8u) << "a document has words of its own";
  EXPECT_GE(words.size(), 4u);
}

}  // namespace
}  // namespace longspan::tool
