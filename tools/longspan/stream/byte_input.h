// Bytes from a file or standard input, as they come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "longspan/io/byte_source.h"

namespace longspan::tool {

/// Reads text from a file, or from stdin for "-"; gzip, xz and zstd archives are unpacked (io/unpack.h), in a stream
/// too. InputError naming the path for a file that cannot be opened or is a folder.
class ByteInput {
 public:
  explicit ByteInput(const std::string& path);
  ~ByteInput();
  ByteInput(const ByteInput&) = delete;
  ByteInput& operator=(const ByteInput&) = delete;

  /// Waits for at least one byte of text and takes up to `most`; 0 at the end and after a Ctrl-C. Of a plain text no
  /// more is read than handed over. RunError when reading fails, InputError for a damaged archive.
  std::size_t read(char* out, std::size_t most);
  /// Passes over `count` bytes of text. InputError when there are fewer; a Ctrl-C ends it early.
  void skip(int64_t count);
  /// Whether nothing more comes for a moment: a pipe or terminal whose other side is thinking. Never for a file or an
  /// archive.
  bool pauses() const;
  /// Bytes of text from here to the end of a regular file, 0 where that is not known.
  int64_t left();

 private:
  class Raw;

  std::size_t read_raw(char* out, std::size_t most);
  void look();

  std::string path_;
  int descriptor_ = -1;
  bool regular_ = false;
  bool looked_ = false;                        ///< at the first bytes
  std::string head_;                           ///< of a plain stream: read to see what it is, and not handed over yet
  std::unique_ptr<ByteSource> raw_, content_;  ///< of an archive
};

/// Whether stdin is a pipe, a socket or a file: something that somebody put there to be read.
bool stdin_is_piped();
/// Whether it is one, and bytes can be had from it at once.
bool stdin_holds_text();

}  // namespace longspan::tool
