// What a person or a script sees of a training run: a progress line on stderr, JSON Lines on stdout.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "longspan/train/train.h"
#include "progress.h"
#include "step_totals.h"

namespace longspan::tool {

/// Ends the run after the step under way when Ctrl-C was pressed.
class TrainDisplay final : public train::TrainObserver {
 public:
  struct Options {
    int64_t steps = 0;
    double bytes_per_token = 1;
    bool json = false, quiet = false;
    std::string title;                                     ///< of the progress line
    std::function<std::string(double share)> remark = {};  ///< what the line says besides when so much is done
  };
  explicit TrainDisplay(Options options);

  void on_step(const train::StepResult& step) override;
  void on_validation(const train::ValidationResult& result) override;
  bool should_stop() override;
  void finish() { line_.finish(); }

  double bits_per_byte(double loss) const;
  int64_t tokens() const { return totals_.tokens(); }
  double seconds() const { return totals_.seconds(); }  ///< of the steps, validation apart
  /// Two lines for a person; `folder` is where the model lies.
  std::string summary(const std::string& folder, int64_t parameters) const;

 private:
  Options options_;
  ProgressLine line_;
  StepTotals totals_;
  std::optional<train::ValidationResult> validation_;
};

}  // namespace longspan::tool
