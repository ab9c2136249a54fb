#include "longspan/patterns/csr.h"

#include <algorithm>

#include "longspan/base/check.h"

namespace longspan::patterns {

namespace {

constexpr int64_t kMostChunks = 16;

}  // namespace

TransposedCsr transpose(const CsrView& csr, int64_t columns, const Parallel& parallel) {
  const int64_t size = csr.size();
  LONGSPAN_CHECK(size < int64_t{1} << 32, "transpose: ", size, " single pairs, at most 2^32 - 1 can be numbered");
  TransposedCsr out;
  out.rows.begin.assign(static_cast<std::size_t>(columns) + 1, 0);
  out.rows.keys.resize(static_cast<std::size_t>(size));
  out.edges.resize(static_cast<std::size_t>(size));
  if (size == 0) return out;

  // A counting sort in chunks of rows: each chunk has its own counter for every column, so that all can run at once
  // and the rows of a column still ascend. More counters than entries would not pay.
  const int64_t chunks = std::clamp<int64_t>(size / (4 * columns), 1, std::min(kMostChunks, csr.rows));
  const auto first_row = [&](int64_t chunk) { return chunk * csr.rows / chunks; };
  std::vector<uint32_t> next(static_cast<std::size_t>(chunks * columns), 0);
  parallel.run(chunks, [&](int64_t chunk, int) {
    uint32_t* counts = next.data() + chunk * columns;
    for (int64_t e = csr.begin[first_row(chunk)]; e < csr.begin[first_row(chunk + 1)]; ++e) ++counts[csr.keys[e]];
  });
  int64_t total = 0;
  for (int64_t column = 0; column < columns; ++column) {
    out.rows.begin[static_cast<std::size_t>(column)] = total;
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
      uint32_t& counter = next[static_cast<std::size_t>(chunk * columns + column)];
      const uint32_t count = counter;
      counter = static_cast<uint32_t>(total);
      total += count;
    }
  }
  out.rows.begin.back() = total;
  parallel.run(chunks, [&](int64_t chunk, int) {
    uint32_t* at = next.data() + chunk * columns;
    for (int64_t row = first_row(chunk); row < first_row(chunk + 1); ++row)
      for (int64_t e = csr.begin[row]; e < csr.begin[row + 1]; ++e) {
        const uint32_t to = at[csr.keys[e]]++;
        out.rows.keys[to] = static_cast<int32_t>(row);
        out.edges[to] = static_cast<uint32_t>(e);
      }
  });
  return out;
}

}  // namespace longspan::patterns
