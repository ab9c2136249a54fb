// Shows what write_dataset() reports, and lets Ctrl-C end it: the folder written aside is removed on the way out.
#pragma once

#include <optional>
#include <string>

#include "interrupt.h"
#include "log.h"
#include "longspan/base/progress.h"
#include "longspan/report/format.h"
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
    if (!line_) line_.emplace(std::string(report.activity), report.total, quiet_, ProgressLine::Unit::bytes);
    line_->update(report.done, report.per_second > 0 ? report::bytes(report.per_second) + "/s" : "");
  }
  void finish() { line_.reset(); }

 private:
  bool quiet_;
  std::optional<ProgressLine> line_;
};

}  // namespace longspan::tool
