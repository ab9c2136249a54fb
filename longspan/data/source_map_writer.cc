#include "longspan/data/source_map_writer.h"

#include <algorithm>
#include <utility>

namespace longspan {

using namespace source_map;

SourceMapWriter::SourceMapWriter(const std::string& path, const std::string& long_path, std::string shown,
                                 std::string long_shown)
    : blocks_(path, std::move(shown)), long_(long_path, std::move(long_shown)) {}

void SourceMapWriter::append(int64_t bytes) {
  if (tokens_ % kBlockTokens == 0) blocks_.append(&bytes_, sizeof(bytes_));
  const auto own = static_cast<uint8_t>(std::min(bytes, kLong));
  blocks_.append(&own, 1);
  if (bytes >= kLong) {
    const std::array<int64_t, 2> entry = {tokens_, bytes};
    long_.append(entry.data(), sizeof(entry));
  }
  ++tokens_;
  bytes_ += bytes;
}

std::array<int64_t, 2> SourceMapWriter::long_entry(int64_t i) {
  std::array<int64_t, 2> entry;
  long_.read(i * kLongEntry, entry.data(), sizeof(entry));
  return entry;
}

int64_t SourceMapWriter::first_long(int64_t token) {
  int64_t low = 0, high = long_entries();
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (long_entry(middle)[0] < token)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

std::vector<int64_t> SourceMapWriter::read(int64_t first, int64_t count) {
  std::vector<int64_t> out;
  out.reserve(static_cast<std::size_t>(count));
  int64_t next_long = count > 0 ? first_long(first) : 0;
  std::array<uint8_t, kBlockTokens> block;
  while (static_cast<int64_t>(out.size()) < count) {
    const int64_t token = first + static_cast<int64_t>(out.size()), place = token % kBlockTokens;
    const int64_t part = std::min(count - static_cast<int64_t>(out.size()), kBlockTokens - place);
    blocks_.read(token / kBlockTokens * kBlockBytes + 8 + place, block.data(), static_cast<std::size_t>(part));
    for (int64_t i = 0; i < part; ++i) {
      const int64_t own = block[static_cast<std::size_t>(i)];
      out.push_back(own == kLong ? long_entry(next_long++)[1] : own);
    }
  }
  return out;
}

int64_t SourceMapWriter::block_begin(int64_t block) {
  int64_t begin;
  blocks_.read(block * kBlockBytes, &begin, sizeof(begin));
  return begin;
}

int64_t SourceMapWriter::token_at(int64_t offset) {
  if (offset <= 0) return 0;
  // The last block that begins before the offset holds the token, or the one after does.
  int64_t low = 0, high = (tokens_ + kBlockTokens - 1) / kBlockTokens;
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    (block_begin(middle) < offset ? low : high) = middle;
  }
  int64_t token = low * kBlockTokens, begin = tokens_ > 0 ? block_begin(low) : 0;
  for (const int64_t bytes : read(token, std::min(kBlockTokens, tokens_ - token))) {
    if (begin >= offset) break;
    begin += bytes;
    ++token;
  }
  return token;
}

void SourceMapWriter::truncate(int64_t count) {
  // Cut back to a border of blocks, and what is left of the block once more.
  const int64_t whole = count / kBlockTokens * kBlockTokens;
  const std::vector<int64_t> rest = read(whole, count - whole);
  bytes_ = whole < tokens_ ? block_begin(whole / kBlockTokens) : bytes_;
  long_.truncate(first_long(whole) * kLongEntry);
  blocks_.truncate(whole / kBlockTokens * kBlockBytes);
  tokens_ = whole;
  for (const int64_t bytes : rest) append(bytes);
}

void SourceMapWriter::close() {
  const std::array<char, kBlockTokens> zeros = {};
  if (tokens_ % kBlockTokens != 0)
    blocks_.append(zeros.data(), static_cast<std::size_t>(kBlockTokens - tokens_ % kBlockTokens));
  blocks_.close();
  long_.close();
}

}  // namespace longspan
