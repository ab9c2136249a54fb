// What a person or a script sees of the training of a task: a progress line on stderr, JSON Lines on stdout.
#pragma once

#include <optional>
#include <string>

#include "longspan/metrics/metrics.h"
#include "longspan/train/train.h"
#include "tools/longspan/progress.h"
#include "tools/longspan/step_totals.h"

namespace longspan::tool {

/// "accuracy 0.912, macro_f1 0.910"
std::string metrics_text(const metrics::Metrics& metrics);

class TaskDisplay final : public train::TrainObserver {
 public:
  TaskDisplay(int64_t steps, bool json, bool quiet);

  void on_step(const train::StepResult& step) override;
  void on_validation(const train::ValidationResult& result) override;
  /// After a Ctrl-C.
  bool should_stop() override;
  void finish() { line_.finish(); }

  /// Two lines for a person; `folder` is where the model lies.
  std::string summary(const std::string& folder, int64_t parameters) const;

 private:
  bool json_;
  ProgressLine line_;
  StepTotals totals_;
  std::optional<train::ValidationResult> validation_;
};

}  // namespace longspan::tool
