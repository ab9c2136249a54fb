// Cells in processes of their own: one thread each makes better use of small models than several threads in one, and
// one that fails or is killed takes nothing with it.
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <deque>
#include <memory>

#include "longspan/base/check.h"
#include "tools/longspan/errors.h"
#include "tools/longspan/interrupt.h"
#include "tools/longspan/progress.h"
#include "tools/longspan/study/cells.h"

namespace longspan::tool {

namespace {

constexpr int kPatience = 200;  // milliseconds between looks at Ctrl-C

std::string own_program() {
  std::string path(4096, '\0');
  const ssize_t size = readlink("/proc/self/exe", path.data(), path.size());
  if (size <= 0) throw RunError(str_cat("study: cannot tell the path of the program: ", std::strerror(errno)));
  path.resize(static_cast<std::size_t>(size));
  return path;
}

/// The end of a pipe that is read without waiting.
class Pipe {
 public:
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw RunError(str_cat("study: cannot make a pipe: ", std::strerror(errno)));
    read_ = ends[0];
    write_ = ends[1];
  }
  ~Pipe() {
    close_write();
    if (read_ >= 0) close(read_);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int reading() const { return read_; }
  int writing() const { return write_; }
  void close_write() {
    if (write_ >= 0) close(write_);
    write_ = -1;
  }
  /// Appends what there is; false at the end.
  bool take(std::string& text) const {
    char buffer[4096];
    const ssize_t size = read(read_, buffer, sizeof buffer);
    if (size > 0) text.append(buffer, static_cast<std::size_t>(size));
    return size > 0 || (size < 0 && errno == EINTR);
  }

 private:
  int read_ = -1, write_ = -1;
};

/// A cell at work.
class Worker {
 public:
  Worker(std::size_t index, const std::string& program, const std::string& folder, const StudyCell& cell,
         int64_t threads)
      : index_(index) {
    const std::vector<std::string> words = {
        program, "study", "cell", folder, cell.name, "--threads", std::to_string(threads), "--json"};
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    const pid_t study = getpid();
    process_ = fork();
    if (process_ < 0) throw RunError(str_cat("study: cannot start a process: ", std::strerror(errno)));
    if (process_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGTERM);  // nobody works for a study that was killed,
      if (getppid() != study) _exit(1);  // not even before that was said
      dup2(out_.writing(), STDOUT_FILENO);
      dup2(err_.writing(), STDERR_FILENO);
      execv(program.c_str(), arguments.data());
      _exit(127);
    }
    out_.close_write();
    err_.close_write();
  }
  ~Worker() {
    if (process_ <= 0) return;
    kill(process_, SIGTERM);
    int status = 0;
    waitpid(process_, &status, 0);
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  std::size_t index() const { return index_; }
  int64_t step() const { return step_; }
  const std::string& what() const { return what_; }
  void stop() const { kill(process_, SIGTERM); }

  void add_to(std::vector<pollfd>& polled) const {
    polled.push_back({out_open_ ? out_.reading() : -1, POLLIN, 0});
    polled.push_back({err_open_ ? err_.reading() : -1, POLLIN, 0});
  }
  /// Reads what poll() found, first that of stdout; false when both pipes have ended.
  bool read(const pollfd* polled) {
    if (out_open_ && polled[0].revents != 0) out_open_ = out_.take(lines_);
    if (err_open_ && polled[1].revents != 0) err_open_ = err_.take(errors_);
    for (std::size_t end; (end = lines_.find('\n')) != std::string::npos; lines_.erase(0, end + 1)) {
      const Json line = parse_json(lines_.substr(0, end), "study cell");
      step_ = line.value("step", step_);
      what_ = line.value("what", what_);
    }
    return out_open_ || err_open_;
  }
  /// Its exit status.
  int wait() {
    int status = 0;
    while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
    process_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  /// Its last word on stderr, without the program's name.
  std::string error() const {
    std::string text = errors_;
    while (!text.empty() && text.back() == '\n') text.pop_back();
    if (const auto line = text.rfind('\n'); line != std::string::npos) text.erase(0, line + 1);
    const std::string name = "longspan: ";
    return text.starts_with(name) ? text.substr(name.size()) : text;
  }

 private:
  std::size_t index_;
  Pipe out_, err_;
  bool out_open_ = true, err_open_ = true;
  pid_t process_ = 0;
  std::string lines_, errors_, what_ = "begins";
  int64_t step_ = 0;
};

[[noreturn]] void fail(const StudyCell& cell, int status, const std::string& error) {
  if (status == exit_interrupted) throw Interrupted();
  const std::string text = str_cat("the cell '", cell.name,
                                   "': ", error.empty() ? str_cat("its process ended with status ", status) : error);
  if (status == exit_wrong_input) throw InputError(text);
  throw RunError(text);
}

}  // namespace

std::vector<Json> run_cells(const CellFolder& folder, const std::vector<StudyCell>& cells, const CellRun& run,
                            const std::function<void(const StudyCell&, const Json& result)>& on_finished) {
  std::vector<Json> results(cells.size());
  std::deque<std::size_t> left;
  int64_t steps = 0, done = 0, finished = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (auto result = folder.finished(cells[i])) {
      results[i] = std::move(*result);
      ++finished;
      on_finished(cells[i], results[i]);
    } else {
      left.push_back(i);
      steps += cells[i].steps;
    }
  }
  if (left.empty()) return results;
  folder.describe(cells);

  const std::string program = own_program();
  ProgressLine line(run.title + ", steps", steps, run.quiet);
  std::vector<std::unique_ptr<Worker>> workers;
  const auto show = [&] {
    int64_t now = done;
    std::string what;
    for (const auto& worker : workers) {
      now += std::min(worker->step(), cells[worker->index()].steps);
      what += str_cat(what.empty() ? "" : "; ", cells[worker->index()].label, " ", worker->what());
    }
    line.update(now, str_cat(finished, " of ", cells.size(), " cells done", what.empty() ? "" : "; " + what));
  };
  bool stopping = false;
  while (!left.empty() || !workers.empty()) {
    if (interrupt_requested() && !stopping) {
      stopping = true;
      left.clear();
      for (const auto& worker : workers) worker->stop();
    }
    while (!left.empty() && static_cast<int64_t>(workers.size()) < run.jobs) {
      workers.push_back(
          std::make_unique<Worker>(left.front(), program, folder.folder(), cells[left.front()], run.threads));
      left.pop_front();
    }
    std::vector<pollfd> polled;
    for (const auto& worker : workers) worker->add_to(polled);
    if (poll(polled.data(), polled.size(), kPatience) < 0 && errno != EINTR)
      throw RunError(str_cat("study: cannot wait for a process: ", std::strerror(errno)));
    for (std::size_t i = workers.size(); i-- > 0;) {
      if (workers[i]->read(&polled[2 * i])) continue;
      const std::unique_ptr<Worker> worker = std::move(workers[i]);
      workers.erase(workers.begin() + static_cast<std::ptrdiff_t>(i));
      const StudyCell& cell = cells[worker->index()];
      if (const int status = worker->wait(); status != exit_done) {
        if (stopping) continue;
        fail(cell, status, worker->error());
      }
      auto result = folder.finished(cell);
      if (!result) throw RunError(str_cat("the cell '", cell.name, "' has left no result"));
      results[worker->index()] = std::move(*result);
      done += cell.steps;
      ++finished;
      line.finish();
      on_finished(cell, results[worker->index()]);
    }
    show();
  }
  if (stopping) throw Interrupted();
  return results;
}

}  // namespace longspan::tool
