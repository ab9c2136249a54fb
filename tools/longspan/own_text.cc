#include "own_text.h"

#include <string_view>

#include "longspan/base/check.h"
#include "longspan/io/atomic_file.h"
#include "longspan/io/mapped_file.h"

namespace longspan::tool {

namespace {

/// Part that is held out, from the end.
constexpr double kHeldOutPart = 0.1;
/// A line break farther than this from the cut is not sought.
constexpr std::size_t kLongestLine = 4096;

}  // namespace

void check_text(const std::string& command, const std::string& path, int64_t least) {
  const auto size = static_cast<int64_t>(MappedFile(path).bytes().size());
  LONGSPAN_CHECK(size >= least, command, ": '", path, "' has ", size, " bytes, at least ", least, " are needed");
}

SplitText split_text(const std::string& path, const std::string& folder) {
  const MappedFile file(path);
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  auto cut = static_cast<std::size_t>((1 - kHeldOutPart) * static_cast<double>(text.size()));
  if (const auto line = text.rfind('\n', cut); line != std::string_view::npos && cut - line < kLongestLine)
    cut = line + 1;
  make_writable_folder(folder);
  const auto write = [&](const std::string& name, std::string_view part) {
    AtomicFile out(folder + "/" + name);
    out.write(part);
    out.commit();
    return folder + "/" + name;
  };
  return {write("train.txt", text.substr(0, cut)), write("held-out.txt", text.substr(cut))};
}

}  // namespace longspan::tool
