#include "progress.h"

#include <unistd.h>

#include <cstdio>

#include "longspan/base/check.h"
#include "longspan/report/format.h"
#include "timing.h"

namespace longspan::tool {

namespace {
constexpr double kTerminalInterval = 0.1;  // seconds between lines
constexpr double kPlainInterval = 5;
}  // namespace

ProgressLine::ProgressLine(std::string what, int64_t total, bool quiet, Unit unit)
    : what_(std::move(what)),
      total_(total),
      quiet_(quiet),
      terminal_(isatty(STDERR_FILENO) == 1),
      unit_(unit),
      started_(now()),
      shown_(started_) {}

ProgressLine::~ProgressLine() { finish(); }

void ProgressLine::update(int64_t done, const std::string& detail) {
  if (quiet_) return;
  const double time = now();
  if (first_done_ < 0) {
    first_done_ = done;
    started_ = time;
  }
  pending_ = str_cat(what_, ": ", amount(done));
  if (total_ > 0) pending_ += (unit_ == Unit::bytes ? " of " : "/") + amount(total_);
  if (!detail.empty()) pending_ += ", " + detail;
  if (done > first_done_ && done < total_) {
    const double left =
        (time - started_) / static_cast<double>(done - first_done_) * static_cast<double>(total_ - done);
    pending_ += ", " + report::duration(left) + " left";
  }
  if (time - shown_ < (terminal_ ? kTerminalInterval : kPlainInterval)) return;
  shown_ = time;
  write(pending_, false);
  pending_.clear();
}

std::string ProgressLine::amount(int64_t value) const {
  return unit_ == Unit::bytes ? report::bytes(static_cast<double>(value)) : std::to_string(value);
}

void ProgressLine::finish() {
  if (quiet_) return;
  if (!pending_.empty())
    write(pending_, true);
  else if (open_ && terminal_)
    std::fputc('\n', stderr);
  pending_.clear();
  open_ = false;
}

void ProgressLine::write(const std::string& text, bool last) {
  if (terminal_) {
    const std::string padding(width_ > text.size() ? width_ - text.size() : 0, ' ');
    std::fprintf(stderr, "\r%s%s%s", text.c_str(), padding.c_str(), last ? "\n" : "");
    width_ = text.size();
  } else {
    std::fprintf(stderr, "%s\n", text.c_str());
  }
  std::fflush(stderr);
  open_ = true;
}

}  // namespace longspan::tool
