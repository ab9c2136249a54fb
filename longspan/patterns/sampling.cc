#include "longspan/patterns/sampling.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "longspan/base/rng.h"

namespace longspan::patterns {

namespace {

constexpr int64_t kDrawsPerTask = 8192;
constexpr int64_t kRowsPerTask = 256;
/// Words of the bit map for each number drawn, up to which reading them all is faster than sorting the numbers.
constexpr int64_t kScannedWords = 16;

int64_t tasks_of(int64_t count, int64_t each) { return (count + each - 1) / each; }

struct Pair {
  int32_t row, column;
};

/// Pairs number `first_task` * kDrawsPerTask and on of the endless sequence of independent draws, appended to `out`.
void draw_pairs(int64_t n, bool past, int64_t first_task, int64_t count, uint64_t seed, int64_t layer,
                const Parallel& parallel, std::vector<Pair>& out) {
  const std::size_t old = out.size();
  out.resize(old + static_cast<std::size_t>(count));
  const auto bound = static_cast<uint32_t>(n);
  parallel.run(tasks_of(count, kDrawsPerTask), [&](int64_t task, int) {
    Draws draws(seed, Purpose::total_pairs, layer, first_task + task);
    for (int64_t e = task * kDrawsPerTask; e < std::min((task + 1) * kDrawsPerTask, count); ++e) {
      uint32_t row = draws.below(bound), column = draws.below(bound);
      while (past && row == column) row = draws.below(bound), column = draws.below(bound);
      if (past && row < column) std::swap(row, column);
      out[old + static_cast<std::size_t>(e)] = {static_cast<int32_t>(row), static_cast<int32_t>(column)};
    }
  });
}

/// The pairs as sorted lists without duplicates.
Csr rows_of(int64_t n, const std::vector<Pair>& pairs, const Parallel& parallel) {
  std::vector<int64_t> begin(static_cast<std::size_t>(n) + 1, 0);
  for (const Pair& pair : pairs) ++begin[static_cast<std::size_t>(pair.row) + 1];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<int32_t> columns(pairs.size());
  std::vector<int64_t> next(begin.begin(), begin.end() - 1);
  for (const Pair& pair : pairs)
    columns[static_cast<std::size_t>(next[static_cast<std::size_t>(pair.row)]++)] = pair.column;

  std::vector<int64_t> kept(static_cast<std::size_t>(n) + 1, 0);
  parallel.run(tasks_of(n, kRowsPerTask), [&](int64_t task, int) {
    for (int64_t row = task * kRowsPerTask; row < std::min((task + 1) * kRowsPerTask, n); ++row) {
      const auto r = static_cast<std::size_t>(row);
      int32_t *first = columns.data() + begin[r], *last = columns.data() + begin[r + 1];
      std::sort(first, last);
      kept[r + 1] = std::unique(first, last) - first;
    }
  });
  Csr out;
  std::partial_sum(kept.begin(), kept.end(), kept.begin());
  out.keys.resize(static_cast<std::size_t>(kept.back()));
  for (std::size_t r = 0; r < static_cast<std::size_t>(n); ++r)
    std::copy_n(columns.data() + begin[r], kept[r + 1] - kept[r], out.keys.data() + kept[r]);
  out.begin = std::move(kept);
  return out;
}

/// What the rows of `csr` leave of [0, n), or of [0, row).
Csr complement(const Csr& csr, int64_t n, bool past) {
  Csr out;
  for (int64_t row = 0; row < n; ++row) {
    auto left_out = csr.row(row).begin();
    for (int32_t column = 0; column < (past ? row : n); ++column) {
      if (left_out != csr.row(row).end() && *left_out == column)
        ++left_out;
      else
        out.keys.push_back(column);
    }
    out.begin.push_back(out.size());
  }
  return out;
}

}  // namespace

Draws::Draws(uint64_t seed, Purpose purpose, int64_t layer, int64_t row)
    : seed_(seed),
      stream_(stream_of({static_cast<uint64_t>(purpose), static_cast<uint64_t>(layer), static_cast<uint64_t>(row)})) {}

uint32_t Draws::next() {
  if (used_ == 4) {
    words_ = philox4x32({static_cast<uint32_t>(block_), static_cast<uint32_t>(block_ >> 32),
                         static_cast<uint32_t>(stream_), static_cast<uint32_t>(stream_ >> 32)},
                        {static_cast<uint32_t>(seed_), static_cast<uint32_t>(seed_ >> 32)});
    ++block_;
    used_ = 0;
  }
  return words_[static_cast<std::size_t>(used_++)];
}

uint32_t Draws::below(uint32_t bound) {
  // Lemire, "Fast random integer generation in an interval" (2019): the high half of a product, and the few products
  // with a low half below 2^32 mod bound thrown away.
  uint64_t product = uint64_t{next()} * bound;
  if (static_cast<uint32_t>(product) < bound) {
    const uint32_t rejected = (0 - bound) % bound;
    while (static_cast<uint32_t>(product) < rejected) product = uint64_t{next()} * bound;
  }
  return static_cast<uint32_t>(product >> 32);
}

const std::vector<int32_t>& Sampler::sample(Draws& draws, int64_t bound, int64_t count) {
  numbers_.clear();
  if (count >= bound) {
    numbers_.resize(static_cast<std::size_t>(std::max<int64_t>(bound, 0)));
    std::iota(numbers_.begin(), numbers_.end(), 0);
    return numbers_;
  }
  const auto word = [&](int64_t number) -> uint64_t& { return taken_[static_cast<std::size_t>(number >> 6)]; };
  const auto bit = [](int64_t number) { return uint64_t{1} << (number & 63); };
  if (static_cast<int64_t>(taken_.size()) < bound / 64 + 1) taken_.resize(static_cast<std::size_t>(bound / 64 + 1));
  for (int64_t top = bound - count; top < bound; ++top) {
    int64_t number = draws.below(static_cast<uint32_t>(top + 1));
    if (word(number) & bit(number)) number = top;
    word(number) |= bit(number);
    numbers_.push_back(static_cast<int32_t>(number));
  }
  if (bound > kScannedWords * 64 * count) {
    for (const int32_t number : numbers_) word(number) = 0;
    std::sort(numbers_.begin(), numbers_.end());
    return numbers_;
  }
  numbers_.clear();  // the bits are in order already
  for (int64_t i = 0; i <= bound / 64; ++i)
    for (uint64_t bits = std::exchange(taken_[static_cast<std::size_t>(i)], 0); bits != 0; bits &= bits - 1)
      numbers_.push_back(static_cast<int32_t>(64 * i + std::countr_zero(bits)));
  return numbers_;
}

Csr sample_pairs(int64_t n, bool past, int64_t count, uint64_t seed, int64_t layer, const Parallel& parallel) {
  const int64_t all = past ? n * (n - 1) / 2 : n * n;
  count = std::min(count, all);
  if (2 * count > all) {  // the few that are left out are drawn sooner
    return complement(sample_pairs(n, past, all - count, seed, layer, parallel), n, past);
  }
  // Independent draws, of which those that were drawn before do not count. Each round asks for as many as are missing,
  // so the last draw that is needed is the last one made, and the set does not depend on the rounds.
  std::vector<Pair> pairs;
  Csr rows;
  rows.begin.assign(static_cast<std::size_t>(n) + 1, 0);
  for (int64_t task = 0; rows.size() < count;) {
    const int64_t missing = count - rows.size();
    pairs.clear();
    for (int64_t row = 0; row < n; ++row)
      for (const int32_t column : rows.row(row)) pairs.push_back({static_cast<int32_t>(row), column});
    draw_pairs(n, past, task, missing, seed, layer, parallel, pairs);
    task += tasks_of(missing, kDrawsPerTask);
    rows = rows_of(n, pairs, parallel);
  }
  return rows;
}

}  // namespace longspan::patterns
