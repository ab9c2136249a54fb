// Progress, in bytes, of work that is usually over before anybody wonders.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tools/longspan/progress.h"
#include "tools/longspan/timing.h"

namespace longspan::tool {

/// A ProgressLine that appears after a second.
class LateProgress {
 public:
  LateProgress(std::string what, int64_t total, bool quiet)
      : what_(std::move(what)), total_(total), quiet_(quiet), started_(now()) {}

  void update(int64_t done, const std::string& detail = "") {
    if (!line_ && now() - started_ > kDelay) line_.emplace(what_, total_, quiet_, ProgressLine::Unit::bytes);
    if (line_) line_->update(done, detail);
  }
  /// Ends the line; update() goes on with another.
  void finish() {
    if (line_) line_->finish();
  }

 private:
  static constexpr double kDelay = 1;  // seconds

  std::string what_;
  int64_t total_;
  bool quiet_;
  double started_;
  std::optional<ProgressLine> line_;
};

}  // namespace longspan::tool
