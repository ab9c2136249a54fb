#include "longspan/io/link_file.h"

#include <sys/stat.h>

#include "tests/io/scratch_folder.h"

namespace longspan {
namespace {

namespace fs = std::filesystem;
using LinkFile = ScratchFolder;
using Names = std::vector<std::string>;

ino_t inode(const std::string& path) {
  struct stat status;
  EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
  return status.st_ino;
}

TEST_F(LinkFile, IsTheSameFileAndReplacesAnother) {
  put("from", "new");
  put("to", "old");
  link_file(path("from"), path("to"));
  EXPECT_EQ(inode(path("to")), inode(path("from")));
  link_file(path("from"), path("to"));  // again
  EXPECT_EQ(get("to"), "new");
  EXPECT_EQ(names(), (Names{"from", "to"}));
}

TEST_F(LinkFile, AcrossFileSystemsItIsACopy) {
  put("from", "new");
  const std::string elsewhere = "/dev/shm/longspan-link-" + std::to_string(::getpid());
  if (!fs::is_directory("/dev/shm")) GTEST_SKIP() << "no second file system here";
  link_file(path("from"), elsewhere);
  std::string text;
  std::ifstream(elsewhere) >> text;
  fs::remove(elsewhere);
  EXPECT_EQ(text, "new");
}

TEST_F(LinkFile, SaysWhatIsInTheWay) {
  put("from", "new");
  fs::create_directory(path("d"));
  put("d/x", "");
  EXPECT_EQ(error_of<RunError>([&] { link_file(path("from"), path("d")); }),
            path("d") + ": cannot be put in place: Is a directory");
  EXPECT_EQ(error_of<RunError>([&] { link_file(path("nothing"), path("to")); }),
            path("nothing") + ": cannot be opened: No such file or directory");
  EXPECT_EQ(error_of<RunError>([&] { point_link(path("d"), "from"); }),
            path("d") + ": cannot be put in place: Is a directory");
  EXPECT_EQ(names(), (Names{"d", "from"}));
}

TEST_F(LinkFile, APointerMoves) {
  put("a", "1");
  put("b", "2");
  point_link(path("best"), "a");
  EXPECT_EQ(get("best"), "1");
  point_link(path("best"), "b");
  point_link(path("best"), "b");
  EXPECT_EQ(get("best"), "2");
  EXPECT_EQ(fs::read_symlink(path("best")), "b");
  EXPECT_EQ(names(), (Names{"a", "b", "best"}));
}

TEST_F(LinkFile, ACopyIsAFileOfItsOwn) {
  put("a", "1");
  copy_file(path("a"), path("b"));
  EXPECT_EQ(get("b"), "1");
  EXPECT_NE(inode(path("a")), inode(path("b")));
}

}  // namespace
}  // namespace longspan
