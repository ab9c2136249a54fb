// Folders made on the way to a result, and the lock of one.
#include <sys/stat.h>
#include <unistd.h>

#include "longspan/io/folder_lock.h"
#include "longspan/io/made_folders.h"
#include "tests/io/killed.h"
#include "tests/io/scratch_folder.h"

namespace longspan {
namespace {

namespace fs = std::filesystem;
using MadeFoldersTest = ScratchFolder;
using FolderLockTest = ScratchFolder;
using Names = std::vector<std::string>;

TEST_F(MadeFoldersTest, EmptyOnesGoAgainAndFullOnesStay) {
  fs::create_directory(path("there"));
  {
    const MadeFolders made(path("there/a/b/"));
    EXPECT_TRUE(fs::is_directory(path("there/a/b")));
  }
  EXPECT_TRUE(fs::is_empty(path("there"))) << "what was there before stays, what was made does not";
  {
    const MadeFolders made(path("a/b/c"));
    put("a/x", "1");
  }
  EXPECT_EQ(get("a/x"), "1");
  EXPECT_FALSE(fs::exists(path("a/b")));
}

TEST_F(MadeFoldersTest, WhatIsInTheWayIsNamed) {
  put("f", "");
  EXPECT_EQ(error_of([&] { MadeFolders made(path("f")); }), path("f") + ": exists and is not a folder");
  EXPECT_EQ(error_of([&] { MadeFolders made(path("f/d")); }), path("f") + ": exists and is not a folder");
  fs::create_symlink("nothing", path("link"));
  EXPECT_EQ(error_of([&] { MadeFolders made(path("link")); }), path("link") + ": exists and is not a folder");
  EXPECT_EQ(error_of([&] { MadeFolders made(""); }), "the name of a folder to write is empty");
  EXPECT_TRUE(error_of<RunError>([&] { MadeFolders made("/proc/none/d"); }).starts_with("/proc/none/d: cannot be "));
}

TEST_F(FolderLockTest, OneAtATime) {
  const auto refusal = [&] { return error_of<RunError>([&] { FolderLock second(path("d")); }); };
  {
    const FolderLock first(path("d"));
    EXPECT_EQ(refusal(), path("d") + ": another run is at work in this folder (process " + std::to_string(::getpid()) +
                             "); wait for it or stop it");
    const FolderLock elsewhere(path("e"));
  }
  EXPECT_EQ(names(), Names{}) << "unused folders go again";
  EXPECT_EQ(refusal(), "");
}

TEST_F(FolderLockTest, WhatARunWroteStays) {
  {
    const FolderLock lock(path("d"));
    put("d/x", "1");
    EXPECT_EQ(error_of<RunError>([&] { FolderLock second(path("d")); }).rfind(path("d") + ": another run", 0), 0u);
  }
  EXPECT_EQ(get("d/x"), "1");
  EXPECT_FALSE(fs::exists(path("d/" + std::string(FolderLock::kLockFile))));
}

TEST_F(FolderLockTest, AKilledRunHoldsNothing) {
  in_a_killed_process([&] {
    auto* lock = new FolderLock(path("d"));
    (void)lock;
  });
  EXPECT_TRUE(fs::exists(path("d/.lock")));
  EXPECT_EQ(error_of<RunError>([&] { FolderLock next(path("d")); }), "");
}

}  // namespace
}  // namespace longspan
