#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "longspan/io/append_file.h"
#include "longspan/io/input_file.h"
#include "tests/io/scratch_folder.h"

namespace longspan {
namespace {

class InputFileTest : public ScratchFolder {
 protected:
  static std::string all(InputFile& file) {
    std::string out(1000, '\0'), text;
    while (const std::size_t got = file.read(out.data(), out.size())) text.append(out, 0, got);
    return text;
  }
  std::string pipe() {
    EXPECT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
    return path("pipe");
  }
};

TEST_F(InputFileTest, FilesAndPipes) {
  const std::string text(5000, 'x');
  InputFile file(put("a", text));
  EXPECT_EQ(all(file), text);
  EXPECT_EQ(file.position(), 5000);
  EXPECT_EQ(file.name(), path("a"));

  const std::string name = pipe();
  std::thread writer([&] { std::ofstream(name) << text; });
  InputFile piped(name);
  EXPECT_EQ(all(piped), text);
  writer.join();
}

TEST_F(InputFileTest, ASilentPipeCanBeGivenUp) {
  struct GivenUp {};
  int calls = 0;
  InputFile file(pipe(), [&] {
    if (++calls == 2) throw GivenUp();
  });
  char out;
  EXPECT_THROW(file.read(&out, 1), GivenUp);
}

TEST_F(InputFileTest, Refusals) {
  const auto refusal = [](const std::string& name) { return error_of([&] { InputFile file(name); }); };
  EXPECT_EQ(refusal(path("none")), path("none") + ": cannot be opened: No such file or directory");
  EXPECT_EQ(refusal(folder_), folder_ + ": is a directory, expected a file");
  EXPECT_EQ(refusal("/dev/null"), "/dev/null: is not a regular file");
  EXPECT_EQ(refusal(""), "the name of a file to read is empty");
}

class AppendFileTest : public ScratchFolder {};

TEST_F(AppendFileTest, GrowsIsReadAndCutBack) {
  AppendFile file(path("a"), "shown");
  std::string expected;
  for (int i = 0; i < 3000; ++i) {
    const std::string piece(static_cast<std::size_t>(i % 400), static_cast<char>('a' + i % 26));
    file.append(piece.data(), piece.size());
    expected += piece;
    if (i % 500 == 499) {
      ASSERT_EQ(file.size(), static_cast<int64_t>(expected.size()));
      std::string middle(1000, '\0');
      file.read(file.size() / 2, middle.data(), middle.size());
      EXPECT_EQ(middle, expected.substr(expected.size() / 2, 1000));
    }
    if (i % 1000 == 999) {
      expected.resize(expected.size() - 12345);
      file.truncate(static_cast<int64_t>(expected.size()));
    }
  }
  const std::string large(1000000, 'z');
  file.append(large.data(), large.size());
  file.close();
  EXPECT_EQ(get("a"), expected + large);
}

TEST_F(AppendFileTest, FailuresNameWhatIsShown) {
  put("there", "x");
  EXPECT_EQ(error_of<RunError>([&] { AppendFile file(path("there"), "shown"); }),
            "shown: cannot be written: File exists");
  const auto before_signal = ::signal(SIGXFSZ, SIG_IGN);
  rlimit before;
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit limit{20000, before.rlim_max};
  AppendFile file(path("a"), "shown");
  ::setrlimit(RLIMIT_FSIZE, &limit);
  const std::string text(30000, 'x');
  const std::string message = error_of<RunError>([&] {
    file.append(text.data(), text.size());
    file.close();
  });
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, before_signal);
  EXPECT_EQ(message, "shown: cannot be written: File too large");
}

}  // namespace
}  // namespace longspan
