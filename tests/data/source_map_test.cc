#include "longspan/data/source_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "tests/io/scratch_folder.h"

namespace longspan {
namespace {

class SourceMapFile : public ScratchFolder {
 protected:
  /// A map of a block of tokens of one byte and three more: `before` the first of the three, `own` of each, 255 for long
  /// ones, and those that stand apart. The whole begins at `begin`.
  std::string error(int64_t before, const std::string& own, const std::vector<int64_t>& longs, int64_t source_bytes,
                    int64_t begin = 0) {
    std::string blocks(2 * source_map::kBlockBytes, '\1'), pairs(8 * longs.size(), '\0');
    std::memcpy(blocks.data(), &begin, 8);
    std::memcpy(blocks.data() + source_map::kBlockBytes, &before, 8);
    std::copy(own.begin(), own.end(), blocks.begin() + source_map::kBlockBytes + 8);
    if (!longs.empty()) std::memcpy(pairs.data(), longs.data(), pairs.size());
    put("source", blocks);
    put("long", pairs);
    return error_of([&] {
      const SourceMap map(path("source"), path("long"), 259, source_bytes);
      EXPECT_EQ(map.bytes(0, 259), source_bytes);
    });
  }
};

TEST_F(SourceMapFile, SumsOfDamagedFilesDoNotOverflow) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(error(256, {1, 4, 2}, {}, 263), "");
  EXPECT_EQ(error(256, {1, '\xff', 2}, {257, 300}, 559), "");
  EXPECT_EQ(error(kMost - 2, {1, 4, 2}, {}, kMost),
            path("source") + ": token 257 ends 4 bytes behind byte 9223372036854775806, which cannot be with " +
                std::to_string(kMost));
  EXPECT_EQ(error(kMost - 5, {1, 4, 2}, {}, kMost), path("source") + ": the last token stands for 2 bytes from byte " +
                                                        std::to_string(kMost) + " on, but the split has " +
                                                        std::to_string(kMost));
  EXPECT_NE(error(256, "\xff\xff\x01", {256, kMost, 257, kMost}, kMost), "");
  EXPECT_EQ(error(-7, {1, 4, 2}, {}, 7), path("source") + ": token 256 begins at byte -7, which cannot be with 7");
  EXPECT_EQ(error(256, {1, 4, 2}, {}, 263, 9), path("source") + ": the first token begins at byte 9, expected 0");
}

}  // namespace
}  // namespace longspan
