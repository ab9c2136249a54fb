// Shows what write_dataset() reports, and lets Ctrl-C end it: the folder written aside is removed on the way out.
#pragma once

#include <optional>
#include <string>

#include "interrupt.h"
#include "log.h"
#include "longspan/base/progress.h"
#include "progress.h"

namespace longspan::tool {

class PrepareProgress final : public Progress {
 public:
  explicit PrepareProgress(bool quiet) : quiet_(quiet) {}

  void message(std::string_view text) override {
    if (!quiet_) log_info(std::string(text));
  }
  void report(const ProgressReport& report) override {
    stop_if_interrupted();
    if (!line_)
      line_.emplace(std::string(report.activity) + " (" + std::string(report.unit) + ")", report.total, quiet_);
    line_->update(report.done);
  }
  void finish() { line_.reset(); }

 private:
  bool quiet_;
  std::optional<ProgressLine> line_;
};

}  // namespace longspan::tool
