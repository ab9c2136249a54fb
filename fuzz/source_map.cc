// The map from tokens to bytes of the source, for tokens that are not a byte each: the split's tokens and source bytes
// as numbers, the blocks and the long tokens, with a line "=" between.
#include "longspan/data/source_map.h"

#include <charconv>

#include "fuzz/fuzz.h"
#include "longspan/base/check.h"

namespace longspan::fuzz {
namespace {

/// As a dataset's description gives it: at least 1.
int64_t number(std::string_view text) {
  int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return std::max<int64_t>(value, 1);
}

/// The parts of a range add up to the whole, wherever it is cut.
void check_accepted(const SourceMap& map, int64_t tokens, int64_t source_bytes) {
  FUZZ_CHECK(map.bytes(0, tokens) == source_bytes);
  for (int64_t cut = 0; cut <= tokens; cut += std::max<int64_t>(1, tokens / 64)) {
    try {
      FUZZ_CHECK(map.bytes(0, cut) + map.bytes(cut, tokens - cut) == source_bytes);
    } catch (const InputError&) {  // damage is found where it is read
    }
  }
}

}  // namespace
}  // namespace longspan::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace longspan;
  static const fuzz::Folder folder;
  const auto parts = fuzz::pieces(fuzz::text_of(data, size), 4);
  const int64_t tokens = fuzz::number(parts[0]), source_bytes = fuzz::number(parts[1]);
  const std::string blocks = folder.put("train.source.bin", parts[2]), longs = folder.put("train.long.bin", parts[3]);
  try {
    fuzz::check_accepted(SourceMap(blocks, longs, tokens, source_bytes), tokens, source_bytes);
  } catch (const InputError&) {
  }
  return 0;
}
