#include "longspan/io/mapped_file.h"

#include <sys/stat.h>

#include <cstring>

#include "tests/io/scratch_folder.h"

namespace longspan {
namespace {

using MappedFileTest = ScratchFolder;

std::string text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

TEST_F(MappedFileTest, Content) {
  const std::string content("a\0b", 3);
  EXPECT_EQ(text_of(MappedFile(put("x", content))), content);
  EXPECT_EQ(MappedFile(put("empty", "")).bytes().size(), 0u);
}

TEST_F(MappedFileTest, Moves) {
  MappedFile a(put("a", "first"));
  MappedFile b(put("b", "second"));
  MappedFile c(std::move(a));
  EXPECT_EQ(text_of(c), "first");
  c = std::move(b);
  EXPECT_EQ(text_of(c), "second");
  EXPECT_EQ(c.path(), path("b"));
}

TEST_F(MappedFileTest, ErrorsNamePathAndReason) {
  EXPECT_EQ(error_of([&] { MappedFile file(path("none")); }),
            path("none") + ": cannot be opened: No such file or directory");
  EXPECT_EQ(error_of([&] { MappedFile file(folder_); }), folder_ + ": is a directory, expected a file");
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(error_of([&] { MappedFile file(path("pipe")); }), path("pipe") + ": is not a regular file");
}

}  // namespace
}  // namespace longspan
