// Bytes from a file or standard input, as they come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace longspan::tool {

/// Reads from a file, or from stdin for "-". InputError naming the path for a file that cannot be opened or is a
/// folder.
class ByteInput {
 public:
  explicit ByteInput(const std::string& path);
  ~ByteInput();
  ByteInput(const ByteInput&) = delete;
  ByteInput& operator=(const ByteInput&) = delete;

  /// Waits for at least one byte and takes up to `most`; 0 at the end and after a Ctrl-C. RunError when reading fails.
  std::size_t read(char* out, std::size_t most);
  /// Passes over `count` bytes. InputError when there are fewer; a Ctrl-C ends it early.
  void skip(int64_t count);
  /// Whether nothing more comes for a moment: a pipe or terminal whose other side is thinking. Never for a file.
  bool pauses() const;
  /// Bytes from here to the end of a regular file, 0 where that is not known.
  int64_t left() const;

 private:
  std::string path_;
  int descriptor_ = -1;
  bool regular_ = false;
};

/// Whether stdin is a pipe, a socket or a file: something that somebody put there to be read.
bool stdin_is_piped();

}  // namespace longspan::tool
