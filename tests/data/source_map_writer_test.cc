#include "longspan/data/source_map_writer.h"

#include <random>

#include "tests/io/scratch_folder.h"

namespace longspan {
namespace {

/// Of SourceMapTest.Damage.
constexpr int64_t kTotal = 598 * 2 + 2000;

class SourceMapTest : public ScratchFolder {
 protected:
  std::vector<int64_t> lengths(int64_t count) {
    const int64_t some[] = {0, 0, 1, 3, 4, 7, 254, 255, 256, 100000, int64_t{1} << 33};
    std::vector<int64_t> out(static_cast<std::size_t>(count));
    for (int64_t& length : out) length = some[draw_() % std::size(some)];
    return out;
  }
  SourceMapWriter writer() { return {path("s"), path("l"), "s", "l"}; }
  static int64_t sum(const std::vector<int64_t>& lengths, int64_t first, int64_t count) {
    int64_t total = 0;
    for (int64_t i = first; i < first + count; ++i) total += lengths[static_cast<std::size_t>(i)];
    return total;
  }
  void expect_holds(const std::vector<int64_t>& lengths) {
    const auto count = static_cast<int64_t>(lengths.size());
    const SourceMap map(path("s"), path("l"), count, sum(lengths, 0, count));
    for (int round = 0; round < 2000; ++round) {
      const auto first = static_cast<int64_t>(draw_() % (count + 1)),
                 part = static_cast<int64_t>(draw_() % (count - first + 1));
      ASSERT_EQ(map.bytes(first, part), sum(lengths, first, part)) << first << " " << part;
    }
  }
  void TearDown() override {
    std::filesystem::remove(path("s"));
    std::filesystem::remove(path("l"));
  }
  std::mt19937 draw_{5};
};

TEST_F(SourceMapTest, AnyRange) {
  for (const int64_t count : {1, 255, 256, 257, 3000}) {
    auto all = lengths(count);
    all[0] = 5;
    auto out = writer();
    for (const int64_t length : all) out.append(length);
    EXPECT_EQ(out.bytes(), sum(all, 0, count));
    out.close();
    expect_holds(all);
    TearDown();
  }
}

TEST_F(SourceMapTest, ReadAndCutBackWhileItIsWritten) {
  auto all = lengths(3000);
  for (const int64_t cut : {2999, 2560, 1500, 1024, 300, 256, 255, 1}) {
    auto out = writer();
    for (const int64_t length : all) out.append(length);
    for (const int64_t first : {int64_t{0}, cut - 1, cut}) {
      const auto part = std::min<int64_t>(700, 3000 - first);
      EXPECT_EQ(out.read(first, part), (std::vector<int64_t>(all.begin() + first, all.begin() + first + part)));
    }
    for (int round = 0; round < 50; ++round) {
      // By its definition.
      const auto offset = static_cast<int64_t>(draw_() % static_cast<uint64_t>(out.bytes() + 2));
      int64_t token = 0, begin = 0;
      while (token < 3000 && begin < offset) begin += all[static_cast<std::size_t>(token++)];
      EXPECT_EQ(out.token_at(offset), token) << offset;
    }
    out.truncate(cut);
    std::vector<int64_t> kept(all.begin(), all.begin() + cut);
    EXPECT_EQ(out.bytes(), sum(all, 0, cut));
    for (const int64_t length : {int64_t{7}, int64_t{300}}) {
      out.append(length);
      kept.push_back(length);
    }
    out.close();
    expect_holds(kept);
    TearDown();
  }
}

TEST_F(SourceMapTest, Damage) {
  {
    auto out = writer();
    for (int i = 0; i < 600; ++i) out.append(i == 300 || i == 599 ? 1000 : 2);
    out.close();
  }
  const std::string blocks = get("s"), lengthy = get("l");
  const auto opened = [&](int64_t tokens = 600, int64_t bytes = kTotal) {
    return error_of([&] { SourceMap map(path("s"), path("l"), tokens, bytes); });
  };
  EXPECT_EQ(opened(), "");
  EXPECT_EQ(opened(256 * 3 + 1), path("s") + ": 792 bytes are not the blocks of 769 tokens");
  EXPECT_EQ(opened(600, kTotal + 1), path("s") + ": the last token stands for 1000 bytes from byte 2196 on, but the split has 3197");
  put("l", lengthy.substr(0, 16));
  EXPECT_EQ(opened(), path("l") + ": has no right entry for token 599");
  put("l", lengthy.substr(0, 17));
  EXPECT_EQ(opened(), path("l") + ": 17 bytes are not pairs of uint64");
  put("l", lengthy);
  std::string altered = blocks;
  altered[264 + 7] = '\x7f';  // the second block begins beyond the end
  put("s", altered);
  {
    const SourceMap map(path("s"), path("l"), 600, kTotal);
    EXPECT_NE(error_of([&] { map.bytes(256, 10); }), "");
    EXPECT_EQ(map.bytes(0, 10), 20);
  }
  altered = blocks;
  altered[264] = 0;  // or before the first one's end
  altered[265] = 0;
  put("s", altered);
  const SourceMap map(path("s"), path("l"), 600, kTotal);
  EXPECT_NE(error_of([&] { map.bytes(200, 60); }), "");
}

}  // namespace
}  // namespace longspan
