// How many bytes of the source text the tokens of a split stand for.
#pragma once

#include <cstdint>
#include <string>

#include "longspan/io/mapped_file.h"

namespace longspan {

/// Two files, little endian, for tokens that are not a byte each:
/// - "<split>.source.bin": a block of 264 bytes for every 256 tokens (the last one filled up with zeros): a uint64, the
///   source bytes before the block's first token, and a uint8 for each token, the bytes it stands for; 255 stands for
///   255 or more, and then
/// - "<split>.long.bin" has the token, ascending, and its bytes, two uint64.
namespace source_map {
inline constexpr int64_t kBlockTokens = 256;
inline constexpr int64_t kBlockBytes = 8 + kBlockTokens;
inline constexpr int64_t kLong = 255;
inline constexpr int64_t kLongEntry = 16;
}  // namespace source_map

/// The map of one split, read where it lies. Opening is quick whatever the size; damage is an InputError where it is
/// read. Movable; reading is safe from several threads.
class SourceMap {
 public:
  /// Throws InputError when a file cannot be read, or its size or its last entry do not agree with the split's numbers.
  SourceMap(std::string path, std::string long_path, int64_t tokens, int64_t source_bytes);

  /// Source bytes of tokens [first, first + count), a range of the split. Constant time, but for a binary search among
  /// the long ones.
  int64_t bytes(int64_t first, int64_t count) const;

 private:
  /// Source bytes before a token, or of all for token == tokens.
  int64_t before(int64_t token) const;
  int64_t long_bytes(int64_t token) const;
  int64_t entry(int64_t i, int64_t field) const;  ///< of the long ones

  MappedFile blocks_, long_;
  int64_t tokens_, source_bytes_;
};

}  // namespace longspan
