// Writing the files of data/source_map.h.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "longspan/data/source_map.h"
#include "longspan/io/append_file.h"

namespace longspan {

/// Appends token by token; may be read and cut back meanwhile.
class SourceMapWriter {
 public:
  /// Paths of the two files and how messages call them.
  SourceMapWriter(const std::string& path, const std::string& long_path, std::string shown, std::string long_shown);

  /// The next token stands for `bytes`.
  void append(int64_t bytes);
  int64_t tokens() const { return tokens_; }
  /// Source bytes of all tokens.
  int64_t bytes() const { return bytes_; }
  /// Bytes of tokens [first, first + count), as they were appended.
  std::vector<int64_t> read(int64_t first, int64_t count);
  /// The first token that begins at byte `offset` of the source or later; tokens() when none does.
  int64_t token_at(int64_t offset);
  /// Forgets the tokens from `count` on.
  void truncate(int64_t count);
  /// To disk, synced; nothing else may be called then.
  void close();

 private:
  int64_t block_begin(int64_t block);
  int64_t long_entries() const { return long_.size() / source_map::kLongEntry; }
  /// The first long entry of token `token` or later.
  int64_t first_long(int64_t token);
  std::array<int64_t, 2> long_entry(int64_t i);

  AppendFile blocks_, long_;
  int64_t tokens_ = 0, bytes_ = 0;
};

}  // namespace longspan
