#include "longspan/base/page_pool.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <thread>
#include <vector>

namespace longspan {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

std::size_t in_pages(std::size_t bytes) { return (bytes + PagePool::kPage - 1) / PagePool::kPage * PagePool::kPage; }

/// A block whose first and last byte of every page is written, so that its pages are there.
struct Block {
  unsigned char* data;
  std::size_t bytes;
  unsigned char mark;

  static Block take(PagePool& pool, std::size_t bytes, unsigned char mark) {
    auto* const data = static_cast<unsigned char*>(pool.allocate(bytes));
    EXPECT_NE(data, nullptr);
    std::memset(data, mark, bytes);
    return {data, bytes, mark};
  }
  bool whole() const {
    return std::all_of(data, data + bytes, [this](unsigned char x) { return x == mark; });
  }
};

/// Sizes as a training step has them: a few large ones, many small ones.
std::size_t draw_size(std::mt19937& random) { return std::size_t{1} << (10 + random() % 12) | (random() % (1 << 12)); }

/// Bytes of [begin, end) that are in memory.
std::size_t resident(char* begin, char* end) {
  std::vector<unsigned char> pages(static_cast<std::size_t>(end - begin) / PagePool::kPage);
  EXPECT_EQ(mincore(begin, static_cast<std::size_t>(end - begin), pages.data()), 0);
  return PagePool::kPage *
         static_cast<std::size_t>(std::count_if(pages.begin(), pages.end(), [](unsigned char x) { return x & 1; }));
}

void expect_bounded(const PagePool& pool, const PagePool::Options& options) {
  const PagePool::Statistics now = pool.statistics();
  const auto most = static_cast<double>(now.live_peak);
  EXPECT_LE(static_cast<double>(now.held_peak), (1 + options.margin) * most + 2 * PagePool::kHugePage);
  EXPECT_EQ(now.taken - now.given_back, now.live + now.cached);
}

TEST(PagePool, HoldsLittleMoreThanTheMostThatLivedWhateverTheSizes) {
  for (const bool huge : {false, true}) {
    const PagePool::Options options{.margin = 1.0 / 32, .huge_pages = huge};
    PagePool pool(options);
    std::mt19937 random(7);
    std::vector<Block> blocks;
    std::size_t live = 0, most = 0;
    for (int i = 0; i < 2500; ++i) {
      // The number of blocks swings between few and many.
      const std::size_t wanted = i % 500 < 250 ? 100 : 5;
      if (blocks.size() < wanted) {
        blocks.push_back(Block::take(pool, draw_size(random), static_cast<unsigned char>(random())));
        live += in_pages(blocks.back().bytes);
        most = std::max(most, live);
      } else {
        std::swap(blocks[random() % blocks.size()], blocks.back());
        ASSERT_TRUE(blocks.back().whole()) << "another block or the system wrote into it";
        ASSERT_TRUE(pool.free(blocks.back().data));
        live -= in_pages(blocks.back().bytes);
        blocks.pop_back();
      }
      ASSERT_EQ(pool.statistics().live, live);
      ASSERT_EQ(pool.statistics().live_peak, most);
      ASSERT_EQ(pool.statistics().blocks, blocks.size());
    }
    expect_bounded(pool, options);
    EXPECT_GT(pool.statistics().given_back, 0u) << "the sequence is to meet the bound";
    EXPECT_GT(pool.statistics().hits, pool.statistics().misses);
  }
}

TEST(PagePool, TheSystemHoldsNoMoreThanIsCounted) {
  for (const bool huge : {false, true}) {
    PagePool pool({.huge_pages = huge});
    std::mt19937 random(3);
    std::vector<Block> blocks;
    char *lowest = nullptr, *highest = nullptr;
    for (int i = 0; i < 600; ++i) {
      if (blocks.size() < (i % 200 < 100 ? 40u : 3u)) {
        blocks.push_back(Block::take(pool, draw_size(random), 1));
        auto* const begin = reinterpret_cast<char*>(blocks.back().data);
        lowest = lowest ? std::min(lowest, begin) : begin;
        highest = std::max(highest, begin + in_pages(blocks.back().bytes));
      } else {
        std::swap(blocks[random() % blocks.size()], blocks.back());
        ASSERT_TRUE(pool.free(blocks.back().data));
        blocks.pop_back();
      }
      const PagePool::Statistics now = pool.statistics();
      ASSERT_LE(resident(lowest, highest), now.live + now.cached);
    }
    EXPECT_GT(pool.statistics().given_back, 0u);
  }
}

TEST(PagePool, ARepeatedStepAsksTheSystemForNothing) {
  PagePool pool;
  const auto step = [&] {
    std::vector<Block> kept;
    for (int layer = 0; layer < 6; ++layer) {
      const Block work = Block::take(pool, 5 * kMiB, 1);
      kept.push_back(Block::take(pool, 3 * kMiB + 100, 2));
      kept.push_back(Block::take(pool, 200 << 10, 3));
      pool.free(work.data);
    }
    for (; !kept.empty(); kept.pop_back()) pool.free(kept.back().data);
  };
  step();
  const PagePool::Statistics first = pool.statistics();
  step();
  step();
  EXPECT_EQ(pool.statistics().misses, first.misses);
  EXPECT_EQ(pool.statistics().given_back, first.given_back);
}

TEST(PagePool, FreedNeighboursAreOneAgain) {
  PagePool pool({.huge_pages = false});
  std::vector<void*> blocks;
  for (int i = 0; i < 8; ++i) blocks.push_back(pool.allocate(kMiB));
  const std::size_t taken = pool.statistics().taken;
  for (const int i : {3, 5, 4, 0, 1, 7, 6, 2}) EXPECT_TRUE(pool.free(blocks[static_cast<std::size_t>(i)]));
  EXPECT_EQ(pool.allocate(8 * kMiB), *std::min_element(blocks.begin(), blocks.end()));
  EXPECT_EQ(pool.statistics().taken, taken);
}

TEST(PagePool, BlocksBeginAtAPageAndTheSmallestThatFitsIsTaken) {
  PagePool pool;
  void* const large = pool.allocate(16 * kMiB);
  void* const wall = pool.allocate(1);
  void* const small = pool.allocate(4 * kMiB);
  void* const rest = pool.allocate(pool.statistics().cached);  // what came with the others
  for (void* const block : {large, wall, small, rest})
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % PagePool::kPage, 0u);
  pool.free(large);
  pool.free(small);
  EXPECT_EQ(pool.allocate(4 * kMiB), small);
  EXPECT_EQ(pool.allocate(4 * kMiB + 1), large);
}

TEST(PagePool, GivesBackWhatNoBlockUses) {
  PagePool pool;
  const Block kept = Block::take(pool, kMiB, 9);
  Block gone = Block::take(pool, 20 * kMiB, 1);
  pool.free(gone.data);
  const std::size_t cached = pool.statistics().cached;
  EXPECT_GE(cached, 20 * kMiB);
  EXPECT_EQ(pool.release_cached(), cached);
  EXPECT_EQ(pool.statistics().cached, 0u);
  EXPECT_EQ(pool.statistics().live_peak, in_pages(kMiB)) << "it begins anew";
  EXPECT_TRUE(kept.whole());
  gone = Block::take(pool, 20 * kMiB, 2);
  EXPECT_TRUE(gone.whole() && kept.whole());
}

TEST(PagePool, KnowsItsBlocks) {
  PagePool pool;
  char* const block = static_cast<char*>(pool.allocate(kMiB));
  int foreign = 0;
  EXPECT_TRUE(pool.owns(block));
  EXPECT_FALSE(pool.owns(block + PagePool::kPage));
  EXPECT_FALSE(pool.owns(&foreign));
  EXPECT_FALSE(pool.free(block + PagePool::kPage));
  EXPECT_TRUE(pool.free(block));
  EXPECT_FALSE(pool.owns(block));
  EXPECT_FALSE(pool.free(block)) << "a second time";
}

TEST(PagePool, WhatTheSystemHasNotIsNull) {
  PagePool pool;
  const Block kept = Block::take(pool, kMiB, 5);
  pool.free(pool.allocate(8 * kMiB));
  EXPECT_EQ(pool.allocate(std::size_t{1} << 60), nullptr);
  EXPECT_EQ(pool.allocate(std::numeric_limits<std::size_t>::max()), nullptr);
  EXPECT_TRUE(kept.whole());
  EXPECT_EQ(pool.statistics().blocks, 1u);
  EXPECT_TRUE(Block::take(pool, 8 * kMiB, 6).whole());
}

TEST(PagePool, ThreadsShareIt) {
  PagePool::Options options;
  PagePool pool(options);
  const auto work = [&](unsigned seed) {
    std::mt19937 random(seed);
    std::vector<Block> blocks;
    for (int i = 0; i < 300; ++i) {
      if (blocks.size() < random() % 20) {
        blocks.push_back(Block::take(pool, draw_size(random), static_cast<unsigned char>(seed)));
      } else if (!blocks.empty()) {
        EXPECT_TRUE(blocks.back().whole());
        EXPECT_TRUE(pool.free(blocks.back().data));
        blocks.pop_back();
      }
    }
    for (const Block& block : blocks) EXPECT_TRUE(block.whole() && pool.free(block.data));
  };
  std::vector<std::thread> threads;
  for (unsigned i = 1; i <= 4; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(pool.statistics().live, 0u);
  expect_bounded(pool, options);
}

}  // namespace
}  // namespace longspan
