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
  /// A map of three tokens: `before` the first, `own` of each, 255 for long ones, and those that stand apart.
  std::string error(int64_t before, const std::string& own, const std::vector<int64_t>& longs, int64_t source_bytes) {
    std::string block(source_map::kBlockBytes, '\0'), pairs(8 * longs.size(), '\0');
    std::memcpy(block.data(), &before, 8);
    std::copy(own.begin(), own.end(), block.begin() + 8);
    std::memcpy(pairs.data(), longs.data(), pairs.size());
    put("source", block);
    put("long", pairs);
    return error_of([&] {
      const SourceMap map(path("source"), path("long"), 3, source_bytes);
      EXPECT_EQ(map.bytes(0, 3), source_bytes);
    });
  }
};

TEST_F(SourceMapFile, SumsOfDamagedFilesDoNotOverflow) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(error(0, {1, 4, 2}, {}, 7), "");
  EXPECT_EQ(error(0, {1, '\xff', 2}, {1, 300}, 303), "");
  EXPECT_EQ(error(kMost - 2, {1, 4, 2}, {}, kMost),
            path("source") + ": token 1 ends 4 bytes behind byte 9223372036854775806, which cannot be with " +
                std::to_string(kMost));
  EXPECT_EQ(error(kMost - 5, {1, 4, 2}, {}, kMost), path("source") + ": the last token stands for 2 bytes from byte " +
                                                        std::to_string(kMost) + " on, but the split has " +
                                                        std::to_string(kMost));
  EXPECT_NE(error(0, "\xff\xff\x01", {0, kMost, 1, kMost}, kMost), "");
  EXPECT_EQ(error(-7, {1, 4, 2}, {}, 7), path("source") + ": token 0 begins at byte -7, which cannot be with 7");
}

}  // namespace
}  // namespace longspan
