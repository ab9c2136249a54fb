#include "longspan/data/source_map.h"

#include <bit>
#include <cstring>
#include <utility>

#include "longspan/base/check.h"

namespace longspan {

using namespace source_map;

static_assert(std::endian::native == std::endian::little, "the map is little endian and is read as it lies");

SourceMap::SourceMap(std::string path, std::string long_path, int64_t tokens, int64_t source_bytes)
    : blocks_(std::move(path)), long_(std::move(long_path)), tokens_(tokens), source_bytes_(source_bytes) {
  const auto size = static_cast<int64_t>(blocks_.bytes().size());
  const int64_t blocks = tokens / kBlockTokens + (tokens % kBlockTokens != 0);
  LONGSPAN_CHECK(size % kBlockBytes == 0 && size / kBlockBytes == blocks, blocks_.path(), ": ", size,
                 " bytes are not the blocks of ", tokens, " tokens");
  LONGSPAN_CHECK(long_.bytes().size() % kLongEntry == 0, long_.path(), ": ", long_.bytes().size(),
                 " bytes are not pairs of uint64");
  const int64_t begin = before(0);
  LONGSPAN_CHECK(begin == 0, blocks_.path(), ": the first token begins at byte ", begin, ", expected 0");
  // Reads every kind of field once.
  const int64_t last = before(tokens - 1);
  const auto own = static_cast<int64_t>(blocks_.bytes()[size - kBlockBytes + 8 + (tokens - 1) % kBlockTokens]);
  const int64_t bytes = own == kLong ? long_bytes(tokens - 1) : own;
  LONGSPAN_CHECK(bytes == source_bytes - last, blocks_.path(), ": the last token stands for ", bytes,
                 " bytes from byte ", last, " on, but the split has ", source_bytes);
}

int64_t SourceMap::entry(int64_t i, int64_t field) const {
  int64_t value;
  std::memcpy(&value, long_.bytes().data() + i * kLongEntry + field * 8, sizeof(value));
  return value;
}

int64_t SourceMap::long_bytes(int64_t token) const {
  int64_t low = 0, high = static_cast<int64_t>(long_.bytes().size()) / kLongEntry;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (entry(middle, 0) < token)
      low = middle + 1;
    else
      high = middle;
  }
  const bool there = low < static_cast<int64_t>(long_.bytes().size()) / kLongEntry && entry(low, 0) == token;
  LONGSPAN_CHECK(there && entry(low, 1) >= kLong && entry(low, 1) <= source_bytes_, long_.path(),
                 ": has no right entry for token ", token);
  return entry(low, 1);
}

int64_t SourceMap::before(int64_t token) const {
  if (token == tokens_) return source_bytes_;
  const std::byte* block = blocks_.bytes().data() + token / kBlockTokens * kBlockBytes;
  int64_t sum;
  std::memcpy(&sum, block, sizeof(sum));
  const int64_t first = token / kBlockTokens * kBlockTokens;
  LONGSPAN_CHECK(sum >= 0 && sum <= source_bytes_, blocks_.path(), ": token ", first, " begins at byte ", sum,
                 ", which cannot be with ", source_bytes_);
  for (int64_t i = 0; i < token - first; ++i) {
    const auto own = static_cast<int64_t>(block[8 + i]);
    const int64_t bytes = own == kLong ? long_bytes(first + i) : own;
    LONGSPAN_CHECK(bytes <= source_bytes_ - sum, blocks_.path(), ": token ", first + i, " ends ", bytes,
                   " bytes behind byte ", sum, ", which cannot be with ", source_bytes_);
    sum += bytes;
  }
  return sum;
}

int64_t SourceMap::bytes(int64_t first, int64_t count) const {
  const int64_t from = before(first), to = before(first + count);
  LONGSPAN_CHECK(from <= to, blocks_.path(), ": tokens ", first, " to ", first + count, " go from byte ", from, " to ",
                 to);
  return to - from;
}

}  // namespace longspan
