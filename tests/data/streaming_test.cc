// write_dataset() on folders, archives, pipes, and its splits and documents.
#include <sys/stat.h>
#include <zlib.h>

#include <cmath>
#include <fstream>
#include <set>
#include <thread>

#include "tests/data/dataset_case.h"

namespace longspan {
namespace {

namespace fs = std::filesystem;

void put_gzip(const std::string& path, const std::string& text) {
  gzFile file = ::gzopen(path.c_str(), "wb");
  ::gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  ::gzclose(file);
}

class StreamingTest : public DatasetCase {
 protected:
  std::string pipe(const std::string& name) {
    EXPECT_EQ(::mkfifo(path(name).c_str(), 0600), 0);
    return path(name);
  }
  /// Lines "<i> ....", 21 to 40 bytes each.
  static std::string lines(int count) {
    std::string out;
    for (int i = 0; i < count; ++i) out += std::to_string(1000000 + i) + std::string(13 + i % 20, '.') + "\n";
    return out;
  }
};

class Messages final : public Progress {
 public:
  void message(std::string_view text) override { messages.emplace_back(text); }
  void report(const ProgressReport& report) override { last = report; }
  std::vector<std::string> messages;
  ProgressReport last;
};

TEST_F(StreamingTest, FoldersAreReadInOrderOfBytes) {
  for (const char* folder : {"in", "in/b", "in/.git", "elsewhere"}) fs::create_directory(path(folder));
  put("in/b/2", "[b/2]");
  put("in/b/1", "[b/1]");
  put("in/a.txt", text_of_size(3000, 1));
  put("in/Z", "[Z]");
  put("in/\xC3\xA9", "[e]");
  put("in/empty", "");
  put("in/.hidden", "no");
  put("in/.git/config", "no");
  put("elsewhere/file", "[linked]");
  put("elsewhere/other", "no");
  fs::create_symlink("../elsewhere/file", path("in/link"));
  fs::create_symlink("../elsewhere", path("in/loop"));
  pipe("in/pipe");
  auto wanted = options({path("in")});
  wanted.valid_fraction = 0;
  Messages messages;
  write_dataset(wanted, messages);
  const Dataset set(path("set"));
  EXPECT_EQ(documents(set, "train"),
            (std::vector<std::string>{"[Z]", text_of_size(3000, 1), "[b/1]", "[b/2]", "[linked]", "[e]"}));
  EXPECT_EQ(messages.messages, (std::vector<std::string>{path("in/loop") + ": is a link to a folder and is left out",
                                                         path("in/pipe") + ": is not a regular file and is left out"}));
  EXPECT_EQ(messages.last.done, 3000 + 3 + 5 + 5 + 8 + 3);
  EXPECT_EQ(messages.last.total, messages.last.done);
}

TEST_F(StreamingTest, FoldersThatAreRefused) {
  fs::create_directory(path("in"));
  fs::create_directory(path("in/deep"));
  put("in/.hidden", "no");
  EXPECT_EQ(refusal(options({path("in")})), path("in") + ": holds no files");
  const std::string a = put("in/a", text_of_size(4000, 1));
  EXPECT_EQ(refusal(options({path("in"), a})), a + ": stands twice among the files");
  fs::create_symlink("../a", path("in/deep/same"));
  EXPECT_EQ(refusal(options({path("in")})), path("in/deep/same") + ": stands twice among the files, also as " + a);
  fs::remove(path("in/deep/same"));
  EXPECT_EQ(refusal(options({path("in")}, {a})), a + ": is held out and trained on at once");
  fs::create_symlink("nowhere", path("in/broken"));
  EXPECT_EQ(refusal(options({path("in")})), path("in/broken") + ": cannot be opened: No such file or directory");
  fs::remove(path("in/broken"));
  // The output of a run before, found again as text.
  auto inside = options({path("in")});
  inside.output = path("in/set");
  write_dataset(inside, progress_);
  inside.overwrite = true;
  EXPECT_EQ(refusal(inside), path("in/set") + ": is a dataset, which is not text; name the files it was made of");
}

TEST_F(StreamingTest, ArchivesGiveWhatTheirContentGives) {
  const std::string text = lines(4000);
  put("a.txt", text);
  put_gzip(path("a.txt.gz"), text);
  write_dataset(options({path("a.txt")}), progress_);
  auto packed = options({path("a.txt.gz")});
  packed.output = path("packed");
  Messages messages;
  write_dataset(packed, messages);
  for (const char* file : {"train.bin", "valid.bin", "train.documents.bin", "dataset.json"})
    EXPECT_EQ(get(std::string("packed/") + file), get(std::string("set/") + file)) << file;
  EXPECT_EQ(messages.last.done, static_cast<int64_t>(fs::file_size(path("a.txt.gz")))) << "as the file lies";

  const std::string whole = get("a.txt.gz");
  auto wrong = options({put("b", whole.substr(0, whole.size() / 2))});
  wrong.output = path("wrong");
  EXPECT_EQ(refusal(wrong), path("b") + ": ends in the middle of a gzip archive");
  put_gzip(path("none.gz"), "");
  wrong.inputs = {path("none.gz")};
  EXPECT_EQ(refusal(wrong), path("none.gz") + ": is empty");
}

TEST_F(StreamingTest, APipeOfUnknownSize) {
  const std::string text = lines(100000);
  const std::string name = pipe("pipe");
  std::thread writer([&] { std::ofstream(name) << text; });
  auto wanted = options({name});
  wanted.test_fraction = 0.1;
  Messages messages;
  write_dataset(wanted, messages);
  writer.join();
  EXPECT_EQ(messages.last.total, 0);
  EXPECT_EQ(messages.last.done, static_cast<int64_t>(text.size()));
  const Dataset set(path("set"));
  const auto size = static_cast<double>(text.size());
  EXPECT_EQ(set.info("test").tokens, static_cast<int64_t>(0.1 * size));
  EXPECT_EQ(set.info("valid").tokens, static_cast<int64_t>(0.02 * size));
  EXPECT_EQ(StreamingTest::text(set, "train") + StreamingTest::text(set, "valid") + StreamingTest::text(set, "test"),
            text);
}

TEST_F(StreamingTest, GivingUpOnASilentPipeLeavesNothing) {
  struct GivenUp {};
  class Impatient final : public Progress {
   public:
    void message(std::string_view) override {}
    void report(const ProgressReport&) override { throw GivenUp(); }
  } impatient;
  const auto wanted = options({pipe("pipe")});
  EXPECT_THROW(write_dataset(wanted, impatient), GivenUp);
  EXPECT_EQ(names(), std::vector<std::string>{"pipe"});
}

TEST_F(StreamingTest, DocumentsOfLinesKeepTheirBordersThroughTheCut) {
  const std::string text = lines(2000);
  auto wanted = options({put("a", text)});
  wanted.documents = DocumentRule::line;
  wanted.valid_fraction = 0.2;
  const auto size = static_cast<double>(text.size());
  const auto cut = [&] { return text.size() - static_cast<std::size_t>(wanted.valid_fraction * size); };
  while (text[cut() - 1] == '\n') wanted.valid_fraction += 1 / size;
  write_dataset(wanted, progress_);
  const Dataset set(path("set"));
  const auto train = documents(set, "train"), valid = documents(set, "valid");
  EXPECT_EQ(static_cast<int64_t>(train.size()), set.info("train").documents);
  // The cut goes through a line, which then counts on both sides.
  EXPECT_EQ(train.size() + valid.size(), 2001u);
  for (std::size_t i = 0; i + 1 < train.size(); ++i) EXPECT_EQ(train[i].back(), '\n');
  for (const auto& document : valid) EXPECT_EQ(document.back(), '\n');
  EXPECT_NE(train.back().back(), '\n');
}

TEST_F(StreamingTest, SeparatorsAreLeftOut) {
  const std::string a = lines(40), b = lines(60);
  auto wanted = options({put("a", a + "<|end|>" + b + "<|end|>")});
  wanted.documents = DocumentRule::separator;
  wanted.separator = "<|end|>";
  wanted.valid_fraction = 0;
  write_dataset(wanted, progress_);
  const Dataset set(path("set"));
  EXPECT_EQ(documents(set, "train"), (std::vector<std::string>{a, b}));
  EXPECT_EQ(set.split_names(), std::vector<std::string>{"train"});
}

TEST_F(StreamingTest, WholeDocumentsAreDrawn) {
  const std::string all = lines(4000);
  auto wanted = options({put("a", all)});
  wanted.documents = DocumentRule::line;
  wanted.split_by = SplitBy::document;
  wanted.valid_fraction = 0.1;
  wanted.test_fraction = 0.2;
  const auto drawn = [&](uint64_t seed) {
    wanted.seed = seed;
    wanted.overwrite = true;
    write_dataset(wanted, progress_);
    const Dataset set(path("set"));
    std::map<std::string, std::vector<std::string>> out;
    for (const auto& split : set.split_names()) out[split] = documents(set, split);
    return out;
  };
  const auto first = drawn(1);
  std::set<std::string> seen;
  for (const auto& [split, documents] : first) {
    EXPECT_TRUE(std::is_sorted(documents.begin(), documents.end())) << "in the order of the text";
    seen.insert(documents.begin(), documents.end());
  }
  EXPECT_EQ(seen.size(), 4000u) << "each in one split";
  // Binomial: six standard deviations.
  EXPECT_NEAR(static_cast<double>(first.at("valid").size()), 400, 6 * std::sqrt(4000 * 0.1 * 0.9));
  EXPECT_NEAR(static_cast<double>(first.at("test").size()), 800, 6 * std::sqrt(4000 * 0.2 * 0.8));
  EXPECT_EQ(drawn(1), first);
  EXPECT_NE(drawn(2), first);
}

TEST_F(StreamingTest, DrawsThatLeaveASplitShortAreRefused) {
  auto wanted = options({put("a", text_of_size(50000, 1)), put("b", text_of_size(50000, 2))});
  wanted.split_by = SplitBy::document;
  EXPECT_EQ(refusal(wanted),
            "prepare: of 2 documents 0 with 0 tokens were drawn for the split valid, but it needs 1025 tokens; take a "
            "larger fraction, more documents or a split by bytes");
}

TEST_F(StreamingTest, OptionsThatAreRefused) {
  auto wanted = options({put("a", text_of_size(3074, 1))}, {put("b", text_of_size(3000, 1))});
  wanted.test_fraction = 0.1;
  EXPECT_EQ(refusal(wanted), "prepare: the split test is either held out or a fraction, not both");
  wanted.held_out.clear();
  EXPECT_EQ(refusal(wanted),
            "prepare: nothing to hold out: the training text has 3074 bytes, at least 3075 are needed");
  wanted.valid_fraction = 0.45;
  EXPECT_EQ(refusal(wanted), "prepare: valid_fraction and test_fraction must be at most 0.5 together, got 0.55");
  wanted = options({"-"}, {"-"});
  EXPECT_EQ(refusal(wanted), "prepare: standard input can be read only once");
  wanted = options({path("a")});
  wanted.tokenizer = "words";
  EXPECT_EQ(refusal(wanted), "tokenizer: expected bytes, the file of a tokenizer or a folder with one, got 'words'");
  wanted.tokenizer = path("a");
  EXPECT_EQ(refusal(wanted), path("a") + ": is not a SentencePiece model, or a damaged one");
}

}  // namespace
}  // namespace longspan
