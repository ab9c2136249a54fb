// Runs that are killed, or whose disk refuses, at any moment of writing: nothing is lost and nothing differs. Every run
// is a process of its own on one thread, forked from one that computes nothing.
#include <ATen/Parallel.h>
#include <fcntl.h>

#include <array>
#include <cstdio>
#include <iterator>
#include <map>
#include <random>
#include <thread>

#include "longspan/io/atomic_file.h"
#include "longspan/models/model_files.h"
#include "longspan/text/byte_tokenizer.h"
#include "longspan/train/checkpoint.h"
#include "longspan/train/checkpoint_store.h"
#include "tests/io/file_calls.h"
#include "tests/io/file_size_limit.h"
#include "tests/io/killed.h"
#include "tests/train/small_runs.h"
#include "tests/train/token_files.h"

namespace longspan::train {
namespace {

namespace fs = std::filesystem;

/// Losses to the last bit, as text in a file ("": none), and the end after a step that a test chooses.
class Lines final : public TrainObserver {
 public:
  Lines(std::string file, int64_t stop_at) : file_(std::move(file)), stop_at_(stop_at) {}
  void on_step(const StepResult& result) override {
    last_ = result.step;
    add(str_cat("step ", result.step), result.loss);
  }
  void on_validation(const ValidationResult& result) override { add(str_cat("validation ", result.step), result.loss); }
  bool should_stop() override { return last_ == stop_at_; }

 private:
  void add(const std::string& what, double value) {
    if (file_.empty()) return;
    std::array<char, 40> number;
    std::snprintf(number.data(), number.size(), " %a\n", value);
    const std::string line = what + number.data();
    const int descriptor = ::open(file_.c_str(), O_WRONLY | O_APPEND);  // one write: whole lines, whenever it is killed
    if (descriptor < 0 || ::write(descriptor, line.data(), line.size()) < 0) throw RunError("no room for a line");
    ::close(descriptor);
  }

  std::string file_;
  int64_t stop_at_, last_ = 0;
};

class Durability : public TokenFiles {
 protected:
  Durability() { at::set_num_threads(1); }

  static TrainOptions options(int64_t steps) {
    TrainOptions options = small_options(steps);
    options.checkpoint_every = 1;
    options.valid_every = 2;
    options.keep_last = 2;
    options.keep_best = 1;
    return options;
  }

  /// Goes on with what is in `run`, or begins; `ready` is called before the first step.
  void go_on(const std::string& run, int64_t steps, int64_t stop_at = -1, bool with_lines = true,
             const std::function<void()>& ready = {}) const {
    Trainer trainer(make_model(byte_config(0.1), 3), train_, &valid_, options(steps));
    if (is_resumable(run)) trainer.resume(run);
    Lines lines(with_lines ? path("lines") : "", stop_at);
    if (ready) ready();
    trainer.run(lines, run, &bytes_);
  }

  /// In a process of its own; returns its exit status, what it said in `said`, or -signal.
  int in_process(const std::function<void()>& work, std::string* said = nullptr) const {
    put("said", "");
    const pid_t child = ::fork();
    if (child == 0) {
      int status = 0;
      try {
        work();
      } catch (const RunError& error) {
        put("said", error.what());
        status = 1;
      } catch (const std::exception& error) {
        put("said", error.what());
        status = 2;
      }
      ::_exit(status);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    if (said) *said = get("said");
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  void put_lines() const { put("lines", ""); }
  /// Every line that a set of runs has written, each once; the same step must have said the same every time.
  std::map<std::string, std::string> lines() const {
    std::map<std::string, std::string> out;
    std::ifstream in(path("lines"));
    for (std::string kind, step, value; in >> kind >> step >> value;) {
      const auto [at, is_new] = out.emplace(str_cat(kind, " ", step), value);
      EXPECT_EQ(at->second, value) << kind << " " << step << (is_new ? "" : " again");
    }
    return out;
  }

  /// Every file of a run's folder with its content, links with where they lead.
  static std::map<std::string, std::string> content(const std::string& run) {
    std::map<std::string, std::string> out;
    for (const auto& entry : fs::recursive_directory_iterator(run)) {
      const std::string name = fs::relative(entry.path(), run);
      if (entry.is_symlink()) {
        out[name] = fs::read_symlink(entry.path());
      } else if (entry.is_regular_file()) {
        std::ifstream in(entry.path(), std::ios::binary);
        out[name] = {std::istreambuf_iterator<char>(in), {}};
      }
    }
    return out;
  }
  static std::vector<std::string> names_of(const std::map<std::string, std::string>& content) {
    std::vector<std::string> out;
    for (const auto& [name, bytes] : content) out.push_back(name);
    return out;
  }
  void expect_same(const std::string& run, const std::string& whole) const {
    const auto a = content(run), b = content(whole);
    ASSERT_EQ(names_of(a), names_of(b));
    for (const auto& [name, bytes] : a) EXPECT_TRUE(bytes == b.at(name)) << name;
  }
  static bool has_unfinished(const std::string& run) {
    std::error_code none;
    for (const std::string& folder : {run, run + "/checkpoints"})
      for (const auto& entry : fs::directory_iterator(folder, none))
        if (is_unfinished(entry.path().filename().string())) return true;
    return false;
  }
  void copy(const std::string& from, const std::string& to) const {
    fs::remove_all(to);
    fs::copy(from, to, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  }

  TokenFile train_ = tokens("train", 3000, 1, 256), valid_ = tokens("valid", 200, 2, 256);
  ByteTokenizer bytes_;
};

TEST_F(Durability, KilledAtThirtyRandomMoments) {
  constexpr int64_t kSteps = 40;
  const std::string whole = path("whole"), cut = path("cut");
  put_lines();
  ASSERT_EQ(in_process([&] { go_on(whole, kSteps); }), 0) << get("said");
  const auto expected = lines();
  put_lines();

  std::mt19937 random(20);  // where the delays end depends on the machine: a failure names its round
  int killed = 0, inside = 0;
  const auto finish = [&] {
    ASSERT_EQ(in_process([&] { go_on(cut, kSteps); }), 0) << get("said");
    expect_same(cut, whole);
    EXPECT_EQ(lines(), expected);
    fs::remove_all(cut);
    put_lines();
  };
  while (killed < 30 && !HasFailure()) {
    SCOPED_TRACE(str_cat("after ", killed, " kills"));
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      try {
        go_on(cut, kSteps, -1, true, [&] { (void)!::write(ready[1], "x", 1); });
      } catch (const std::exception& error) {
        put("said", error.what());
        ::_exit(1);
      }
      ::_exit(0);
    }
    ::close(ready[1]);
    char byte;
    (void)!::read(ready[0], &byte, 1);
    ::close(ready[0]);
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 60000));
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status)) {
      ++killed;
      inside += has_unfinished(cut);
    } else {
      ASSERT_EQ(WEXITSTATUS(status), 0) << get("said");
      finish();
    }
  }
  finish();
  RecordProperty("inside_a_write", inside);
}

/// A run of three steps whose second one, checkpoint and all, meets a fault at every call in turn.
class FaultAtEveryCall : public Durability {
 protected:
  void SetUp() override {
    put_lines();
    ASSERT_EQ(in_process([&] { go_on(path("first"), 3, 1); }), 0) << get("said");
    copy(path("first"), path("second"));
    ASSERT_EQ(in_process([&] {
                const FileCalls calls;
                second_step(path("second"));
                put("count", std::to_string(calls.count()));
              }),
              0)
        << get("said");
    count_ = std::stoll(get("count"));
    ASSERT_GT(count_, 20);
    copy(path("first"), path("whole"));
    ASSERT_EQ(in_process([&] { go_on(path("whole"), 3); }), 0) << get("said");
    lines_ = lines();
  }

  /// A run after every fault would take minutes, and most are writes of one file after the other.
  bool is_finished(int64_t at) const { return at % 16 == 0 || at == count_; }

  void second_step(const std::string& run) const { go_on(run, 3, 2, false); }

  /// One of the two states between which the fault struck, and, where it is `finished`, a run that ends as if nothing
  /// had been.
  void expect_nothing_lost(const std::string& run, bool finished = true) {
    const auto checkpoints = find_checkpoints(run);
    ASSERT_FALSE(checkpoints.empty());
    for (const auto& checkpoint : checkpoints) {
      const std::string from = path(checkpoint.step == 1 ? "first" : "second");
      const std::string name = "/" + fs::relative(checkpoint.folder, run).string() + "/" + kTrainingFile;
      std::ifstream a(run + name, std::ios::binary), b(from + name, std::ios::binary);
      EXPECT_TRUE(std::string(std::istreambuf_iterator<char>(a), {}) ==
                  std::string(std::istreambuf_iterator<char>(b), {}))
          << name;
    }
    if (!finished) return;
    for (const auto& checkpoint : checkpoints) EXPECT_NO_THROW(models::load_model(checkpoint.folder));
    EXPECT_NO_THROW(models::load_model(run));
    ASSERT_EQ(in_process([&] { go_on(run, 3); }), 0) << get("said");
    expect_same(run, path("whole"));
    EXPECT_EQ(lines(), lines_);
  }

  int64_t count_ = 0;
  std::map<std::string, std::string> lines_;
};

TEST_F(FaultAtEveryCall, KilledThere) {
  for (int64_t at = 1; at <= count_ && !HasFailure(); ++at) {
    SCOPED_TRACE(str_cat("call ", at, " of ", count_));
    copy(path("first"), path("run"));
    const int status = in_process([&] {
      const FileCalls calls(FileFault::kill, at);
      second_step(path("run"));
    });
    ASSERT_EQ(status, -SIGKILL);
    expect_nothing_lost(path("run"), is_finished(at));
  }
}

TEST_F(FaultAtEveryCall, RefusedThere) {
  int64_t told = 0;
  for (int64_t at = 1; at <= count_ && !HasFailure(); ++at) {
    copy(path("first"), path("run"));
    std::string said;
    const int status = in_process(
        [&] {
          const FileCalls calls(FileFault::refuse, at);
          try {
            second_step(path("run"));
          } catch (...) {
            put("call", calls.faulted());
            throw;
          }
          put("call", calls.faulted());
        },
        &said);
    SCOPED_TRACE(str_cat("call ", at, " of ", count_, " (", get("call"), "): ", said));
    if (status != 0) {
      ++told;
      ASSERT_EQ(status, 1);
      EXPECT_TRUE(said.starts_with(path("run")) && said.ends_with(": No space left on device"));
      EXPECT_EQ(said.find(".aside"), std::string::npos) << "a name that nobody knows";
    } else {
      EXPECT_TRUE(get("call") == "unlink") << "every refusal but that of a clean-up must be told";
    }
    EXPECT_TRUE(fs::exists(path("run/checkpoints/step-000001/training.safetensors")));
    expect_nothing_lost(path("run"), is_finished(at));
  }
  EXPECT_GT(told, count_ / 2);
}

TEST_F(FaultAtEveryCall, FilesThatMayNotGrow) {
  std::vector<int64_t> sizes;
  for (const auto& [name, bytes] : content(path("second"))) sizes.push_back(static_cast<int64_t>(bytes.size()));
  const int64_t largest = *std::max_element(sizes.begin(), sizes.end());
  int64_t refused = 0;
  for (int64_t limit = 0; limit < largest && !HasFailure(); limit = limit < 8 ? limit + 1 : limit + largest / 12) {
    SCOPED_TRACE(str_cat("at most ", limit, " bytes"));
    copy(path("first"), path("run"));
    std::string said;
    const int status = in_process(
        [&] {
          std::optional<FileSizeLimit> small;
          go_on(path("run"), 3, 2, false, [&] { small.emplace(static_cast<rlim_t>(limit)); });
        },
        &said);
    ASSERT_EQ(status, 1);
    ++refused;
    EXPECT_TRUE(said.starts_with(path("run/")) && said.ends_with(": File too large")) << said;
    expect_nothing_lost(path("run"));
  }
  EXPECT_GT(refused, 10);
}

}  // namespace
}  // namespace longspan::train
