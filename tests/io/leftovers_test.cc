// What writers that were killed leave, and how the next one of the same path puts it right.
#include <sys/stat.h>

#include "longspan/io/aside.h"
#include "longspan/io/atomic_file.h"
#include "longspan/io/remove_folder.h"
#include "tests/io/killed.h"
#include "tests/io/scratch_folder.h"

namespace longspan {
namespace {

namespace fs = std::filesystem;
using Leftovers = ScratchFolder;
using Names = std::vector<std::string>;

void write_file(const std::string& path, std::string_view content) {
  AtomicFile file(path);
  file.write(content);
  file.commit();
}

TEST_F(Leftovers, TheNextWriterOfAFileRemovesThem) {
  put("x", "old");
  in_a_killed_process([&] {
    auto* file = new AtomicFile(path("x"));
    file->write("half");
    new AtomicFile(path("x.5"));  // another file, with a name that looks alike
  });
  ASSERT_EQ(names().size(), 3u);
  for (const auto& name : names()) EXPECT_TRUE(name == "x" || is_unfinished(name)) << name;
  EXPECT_EQ(get("x"), "old");
  write_file(path("x"), "new");
  ASSERT_EQ(names().size(), 2u) << "that of the other file is not ours to remove";
  write_file(path("x.5"), "");
  EXPECT_EQ(names(), (Names{"x", "x.5"}));
}

TEST_F(Leftovers, AWriterAtWorkLosesNothing) {
  AtomicFile at_work(path("x"));
  at_work.write("mine");
  write_file(path("x"), "of another");
  at_work.commit();
  EXPECT_EQ(get("x"), "mine");

  AtomicFolder folder(path("d"));
  std::ofstream(folder / "a") << "1";
  { AtomicFolder other(path("d")); }
  folder.commit();
  EXPECT_EQ(get("d/a"), "1");
  EXPECT_EQ(names(), (Names{"d", "x"}));
}

TEST_F(Leftovers, OtherNamesAreNeverTouched) {
  const Names alike = {".x..aside", ".x.1.aside", ".x.1.2.3.aside", ".x.a.0.aside", ".xx.1.0.aside", "x.1.0.aside"};
  for (const auto& name : alike) put(name, "kept");
  write_file(path("x"), "new");
  EXPECT_EQ(names().size(), alike.size() + 1);
}

TEST_F(Leftovers, AHalfFilledFolderGoes) {
  in_a_killed_process([&] {
    auto* folder = new AtomicFolder(path("d"));
    std::ofstream(*folder / "a") << "1";
  });
  ASSERT_EQ(names().size(), 1u);
  AtomicFolder folder(path("d"));
  folder.commit();
  EXPECT_EQ(names(), Names{"d"});
}

TEST_F(Leftovers, AFolderOnItsWayOutComesBackOrGoes) {
  // As a writer leaves it that is killed between the two renames of a file system without exchange.
  fs::create_directory(path("d"));
  put("d/a", "old");
  const std::string away = internal::name_aside(path("d"), internal::kReplaced);
  fs::rename(path("d"), away);
  EXPECT_TRUE(is_unfinished(fs::path(away).filename().string()));
  { AtomicFolder next(path("d"), {"a"}); }
  EXPECT_EQ(get("d/a"), "old") << "nothing new had come in";

  // And as one that is killed after them.
  fs::create_directory(away);
  std::ofstream(away + "/a") << "older";
  { AtomicFolder next(path("d"), {"a"}); }
  EXPECT_EQ(get("d/a"), "old");
  EXPECT_EQ(names(), Names{"d"});

  fs::create_directory(away);
  std::ofstream(away + "/letter") << "dear";
  { AtomicFolder next(path("d"), {"a"}); }
  EXPECT_TRUE(fs::exists(away + "/letter")) << "what is not ours is kept";
}

TEST_F(Leftovers, OfEverythingInAFolder) {
  fs::create_directory(path("d"));
  put("d/kept", "1");
  in_a_killed_process([&] {
    auto* folder = new AtomicFolder(path("d/folder"));
    std::ofstream(*folder / "a") << "1";
    new AtomicFile(path("d/file"));
  });
  fs::create_directory(path("d/new"));
  fs::create_directory(internal::name_aside(path("d/new"), internal::kReplaced));
  fs::create_symlink("kept", internal::name_aside(path("d/link"), internal::kUnfinished));
  const AtomicFolder at_work(path("d/at-work"));
  clear_unfinished(path("d"));
  Names left;
  for (const auto& entry : fs::directory_iterator(path("d"))) left.push_back(entry.path().filename());
  std::sort(left.begin(), left.end());
  ASSERT_EQ(left.size(), 3u);
  EXPECT_TRUE(left[0].starts_with(".at-work."));
  EXPECT_EQ((Names{left[1], left[2]}), (Names{"kept", "new"}));
  clear_unfinished(path("nowhere"));
}

TEST_F(Leftovers, OfAFolderThatWasBeingRemoved) {
  fs::create_directory(path("d"));
  put("d/a", "1");
  remove_folder(path("d"));
  EXPECT_EQ(names(), Names{});
  EXPECT_EQ(error_of<RunError>([&] { remove_folder(path("d")); }),
            path("d") + ": cannot be removed: No such file or directory");
}

TEST_F(Leftovers, FoldersAboveAreMadeForAResultAlone) {
  { AtomicFolder folder(path("a/b/d")); }
  EXPECT_EQ(names(), Names{});
  AtomicFolder folder(path("a/b/d"));
  folder.commit();
  EXPECT_TRUE(fs::is_directory(path("a/b/d")));
}

}  // namespace
}  // namespace longspan
