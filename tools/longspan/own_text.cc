#include "own_text.h"

#include <string_view>

#include "interrupt.h"
#include "longspan/base/check.h"
#include "longspan/io/atomic_file.h"
#include "longspan/io/text_file.h"
#include "longspan/io/unpack.h"

namespace longspan::tool {

namespace {

/// Part that is held out, from the end.
constexpr double kHeldOutPart = 0.1;
/// A line break farther than this from the cut is not sought.
constexpr std::size_t kLongestLine = 4096;

std::string_view content_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

/// Writes `text` as a file of `folder` and returns its path.
std::string write_text(const std::string& folder, const std::string& name, std::string_view text) {
  make_writable_folder(folder);
  AtomicFile out(folder + "/" + name);
  out.write(text);
  out.commit();
  return folder + "/" + name;
}

}  // namespace

void check_text(const std::string& command, const std::string& path, int64_t least) {
  const auto size = static_cast<int64_t>(map_text(path, stop_if_interrupted).bytes().size());
  LONGSPAN_CHECK(size >= least, command, ": '", path, "' has ", size, " bytes, at least ", least, " are needed");
}

SplitText split_text(const std::string& path, const std::string& folder) {
  const MappedFile file = map_text(path, stop_if_interrupted);
  const std::string_view text = content_of(file);
  auto cut = static_cast<std::size_t>((1 - kHeldOutPart) * static_cast<double>(text.size()));
  if (const auto line = text.rfind('\n', cut); line != std::string_view::npos && cut - line < kLongestLine)
    cut = line + 1;
  return {write_text(folder, "train.txt", text.substr(0, cut)), write_text(folder, "held-out.txt", text.substr(cut))};
}

std::string plain_text(const std::string& path, const std::string& folder) {
  const MappedFile plain(path);
  const std::string_view head = content_of(plain).substr(0, kPackingHead);
  if (!may_be_packed(head, path)) return path;
  return write_text(folder, "held-out.txt", content_of(map_text(path, stop_if_interrupted)));
}

}  // namespace longspan::tool
