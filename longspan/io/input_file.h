// A file, a pipe or standard input, read from front to back.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "longspan/io/byte_source.h"

namespace longspan {

/// The name that stands for standard input.
inline constexpr const char* kStandardInput = "-";

class InputFile final : public ByteSource {
 public:
  /// Opens `path`, or standard input for "-". Where the other end of a pipe keeps silent, `waiting` is called several
  /// times a second; it may throw to give up. Throws InputError, naming the path and the reason, for what is missing,
  /// unreadable, a directory or a device.
  explicit InputFile(std::string path, std::function<void()> waiting = {});
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile() override;

  /// RunError when reading fails.
  std::size_t read(char* out, std::size_t size) override;

  /// The path, or "standard input".
  const std::string& name() const { return name_; }
  /// Bytes read so far.
  int64_t position() const { return position_; }

 private:
  void wait() const;

  std::string name_;
  std::function<void()> waiting_;
  int descriptor_ = -1;
  bool owned_ = false;
  bool regular_ = false;  ///< never silent
  int64_t position_ = 0;
};

}  // namespace longspan
