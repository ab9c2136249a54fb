#include "longspan/io/atomic_file.h"

#include <sys/stat.h>

#include "tests/io/file_size_limit.h"
#include "tests/io/scratch_folder.h"

namespace longspan {
namespace {

namespace fs = std::filesystem;
using AtomicFileTest = ScratchFolder;
using AtomicFolderTest = ScratchFolder;
using Names = std::vector<std::string>;

TEST_F(AtomicFileTest, AppearsAtCommit) {
  AtomicFile file(path("x"));
  file.write("one ");
  file.write("two");
  EXPECT_FALSE(fs::exists(path("x")));
  file.commit();
  EXPECT_EQ(get("x"), "one two");
  EXPECT_EQ(names(), Names{"x"});
}

TEST_F(AtomicFileTest, WithoutCommitNothingHappens) {
  put("x", "old");
  {
    AtomicFile file(path("x"));
    file.write("new");
  }
  EXPECT_EQ(get("x"), "old");
  EXPECT_EQ(names(), Names{"x"});
}

TEST_F(AtomicFileTest, ReplacesAndKeepsMode) {
  put("x", "old and longer");
  ASSERT_EQ(::chmod(path("x").c_str(), 0640), 0);
  AtomicFile file(path("x"));
  file.write("new");
  file.commit();
  EXPECT_EQ(get("x"), "new");
  struct stat status;
  ASSERT_EQ(::stat(path("x").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0640u);
}

TEST_F(AtomicFileTest, TwoWritersAtOnce) {
  AtomicFile a(path("x"));
  AtomicFile b(path("x"));
  a.write("a");
  b.write("b");
  b.commit();
  a.commit();
  EXPECT_EQ(get("x"), "a");
  EXPECT_EQ(names(), Names{"x"});
}

TEST_F(AtomicFileTest, SymbolicLinkStays) {
  put("target", "old");
  fs::create_symlink("target", path("link"));
  AtomicFile file(path("link"));
  file.write("new");
  file.commit();
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(get("target"), "new");
}

TEST_F(AtomicFileTest, SymbolicLinkToNothingStaysToo) {
  fs::create_directory(path("there"));
  fs::create_symlink("link2", path("link"));
  fs::create_symlink("there/new", path("link2"));
  AtomicFile file(path("link"));
  file.write("new");
  file.commit();
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_TRUE(fs::is_symlink(path("link2")));
  EXPECT_EQ(get("there/new"), "new");
  EXPECT_EQ(names(), (Names{"link", "link2", "there"}));

  fs::create_symlink("circle", path("circle"));
  EXPECT_EQ(error_of<RunError>([&] { AtomicFile file(path("circle")); }),
            path("circle") + ": cannot be written: Too many levels of symbolic links");
}

TEST_F(AtomicFileTest, FullDiskLeavesTheOldFile) {
  put("x", "old");
  const std::string large(10000, 'n');
  {
    const FileSizeLimit limit(4096);
    const auto write = [&] {
      AtomicFile file(path("x"));
      file.write(large);
      file.commit();
    };
    EXPECT_EQ(error_of<RunError>(write), path("x") + ": cannot be written: File too large");
  }
  EXPECT_EQ(get("x"), "old");
  EXPECT_EQ(names(), Names{"x"});
}

TEST_F(AtomicFileTest, RefusesWhatIsNoFile) {
  EXPECT_EQ(error_of([&] { AtomicFile file(folder_); }), folder_ + ": is a directory, expected a file");
  EXPECT_EQ(error_of([&] { AtomicFile file(path("x/")); }),
            path("x/") + ": is the name of a directory, expected a file");
  // A device must not be renamed over, whatever rights the user has.
  EXPECT_EQ(error_of([&] { AtomicFile file("/dev/full"); }), "/dev/full: is not a regular file");
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
  EXPECT_EQ(error_of<RunError>([&] { AtomicFile file(path("no/x")); }),
            path("no/x") + ": cannot be written: No such file or directory");
  EXPECT_EQ(names(), Names{});
}

TEST_F(AtomicFolderTest, AppearsAtCommit) {
  AtomicFolder folder(path("d"));
  std::ofstream(folder / "x") << "1";
  EXPECT_FALSE(fs::exists(path("d")));
  folder.commit();
  EXPECT_EQ(names(), Names{"d"});
  EXPECT_EQ(get("d/x"), "1");
}

TEST_F(AtomicFolderTest, WithoutCommitNothingHappens) {
  {
    AtomicFolder folder(path("d"));
    std::ofstream(folder / "x") << "1";
  }
  EXPECT_EQ(names(), Names{});
}

TEST_F(AtomicFolderTest, ExistingFolder) {
  fs::create_directory(path("d"));
  AtomicFolder(path("d/")).commit();  // an empty one may be used
  put("d/x", "old");
  EXPECT_EQ(error_of([&] { AtomicFolder folder(path("d")); }), path("d") + ": exists already");
  {
    AtomicFolder folder(path("d"), {"x", "z"});
    std::ofstream(folder / "y") << "new";
    EXPECT_EQ(get("d/x"), "old");
    folder.commit();
  }
  EXPECT_EQ(get("d/y"), "new");
  EXPECT_FALSE(fs::exists(path("d/x")));
  EXPECT_EQ(names(), Names{"d"});
  put("f", "");
  EXPECT_EQ(error_of([&] { AtomicFolder folder(path("f"), {"x"}); }), path("f") + ": exists and is not a folder");
  fs::create_symlink("nothing", path("link"));
  EXPECT_EQ(error_of([&] { AtomicFolder folder(path("link")); }), path("link") + ": exists and is not a folder");
}

TEST_F(AtomicFolderTest, WhatMayNotBeReplacedStays) {
  fs::create_directory(path("d"));
  put("d/x", "old");
  const auto refusal = [&] { return error_of([&] { AtomicFolder folder(path("d"), {"x", "y"}); }); };
  EXPECT_EQ(refusal(), "");
  put("d/letter", "dear");
  EXPECT_EQ(refusal(), path("d") + ": holds 'letter', so the folder is not replaced");
  fs::remove(path("d/letter"));
  fs::create_directory(path("d/y"));
  EXPECT_EQ(refusal(), path("d") + ": holds 'y', so the folder is not replaced") << "a folder of an allowed name";
  fs::remove(path("d/y"));
  fs::create_symlink("x", path("d/y"));
  EXPECT_EQ(refusal(), path("d") + ": holds 'y', so the folder is not replaced") << "a link of an allowed name";
  fs::remove(path("d/y"));

  {
    AtomicFolder folder(path("d"), {"x", "y"});
    put("d/letter", "dear");  // meanwhile
    EXPECT_EQ(error_of<RunError>([&] { folder.commit(); }),
              path("d") + ": holds 'letter' by now, so the folder is not replaced");
  }
  EXPECT_EQ(get("d/x"), "old");
  EXPECT_EQ(get("d/letter"), "dear");
  EXPECT_EQ(names(), Names{"d"});
}

TEST_F(AtomicFolderTest, FilledMeanwhile) {
  AtomicFolder folder(path("d"));
  fs::create_directory(path("d"));
  put("d/x", "of someone else");
  EXPECT_EQ(error_of<RunError>([&] { folder.commit(); }), path("d") + ": cannot be put in place: Directory not empty");
  EXPECT_EQ(get("d/x"), "of someone else");
}

using WritableFolder = ScratchFolder;

TEST_F(WritableFolder, IsMadeAndLeftEmpty) {
  make_writable_folder(path("a/b/"));
  EXPECT_TRUE(fs::is_empty(path("a/b")));
  make_writable_folder(path("a/b"));
  EXPECT_TRUE(fs::is_empty(path("a/b")));
}

TEST_F(WritableFolder, SaysWhatIsInTheWay) {
  put("f", "");
  EXPECT_EQ(error_of<RunError>([&] { make_writable_folder(path("f/d")); }),
            path("f/d") + ": cannot be created: Not a directory");
  EXPECT_EQ(error_of<RunError>([&] { make_writable_folder(path("f")); }),
            path("f") + ": cannot be created: Not a directory");
  // Whatever rights the user has, no file can be made there.
  EXPECT_TRUE(
      error_of<RunError>([&] { make_writable_folder("/proc/self"); }).starts_with("/proc/self: cannot be written: "));
}

TEST_F(WritableFolder, UnfinishedFilesAreKnownByName) {
  AtomicFile file(path("x"));
  ASSERT_EQ(names().size(), 1u);
  EXPECT_TRUE(is_unfinished(names().front())) << names().front();
  file.commit();
  EXPECT_FALSE(is_unfinished("x"));
}

}  // namespace
}  // namespace longspan
