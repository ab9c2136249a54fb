// What the fuzz targets share. A target takes bytes as a user's file might hold them: it may refuse them with an
// InputError and nothing else, and what it accepts must be true.
#pragma once

#include <stdlib.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

/// Stops with a report, which libFuzzer keeps the input of.
#define FUZZ_CHECK(condition)                                                      \
  do {                                                                             \
    if (!(condition)) {                                                            \
      std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                \
    }                                                                              \
  } while (false)

namespace longspan::fuzz {

inline std::string_view text_of(const uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// A folder for the files of an input, removed when the process ends.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "longspan-fuzz-XXXXXX").string();
    if (!::mkdtemp(name.data())) throw std::runtime_error("no temporary folder");
    path_ = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::string& path() const { return path_; }
  /// Writes or replaces a file and returns its path.
  std::string put(const std::string& name, std::string_view content) const {
    const std::string file = path_ + "/" + name;
    std::FILE* out = std::fopen(file.c_str(), "wb");
    FUZZ_CHECK(out != nullptr);
    FUZZ_CHECK(std::fwrite(content.data(), 1, content.size(), out) == content.size());
    FUZZ_CHECK(std::fclose(out) == 0);
    return file;
  }

 private:
  std::string path_;
};

/// The first `count` - 1 pieces of `input` that a line "=" ends, and the rest; missing ones are empty.
inline std::vector<std::string_view> pieces(std::string_view input, std::size_t count) {
  constexpr std::string_view kCut = "\n=\n";
  std::vector<std::string_view> out;
  while (out.size() + 1 < count) {
    const std::size_t at = std::min(input.find(kCut), input.size());
    out.push_back(input.substr(0, at));
    input.remove_prefix(std::min(at + kCut.size(), input.size()));
  }
  out.push_back(input);
  return out;
}

}  // namespace longspan::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size);
