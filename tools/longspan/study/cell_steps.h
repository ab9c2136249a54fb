// What a cell remembers of its training.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "longspan/report/binned.h"
#include "longspan/train/train.h"
#include "tools/longspan/study/cells.h"

namespace longspan::tool {

/// Tells `progress` of every step and ends the run on a Ctrl-C. `unit`: of `value`, which makes of a loss what is told
/// and kept.
class CellSteps final : public train::TrainObserver {
 public:
  CellSteps(const CellProgress& progress, std::string unit, std::function<double(double loss)> value)
      : progress_(progress), unit_(std::move(unit)), value_(std::move(value)) {}

  void on_step(const train::StepResult& step) override;
  bool should_stop() override;

  double seconds() const { return seconds_; }
  int64_t tokens() const { return tokens_; }
  /// {"steps": [...], "value": [...]}, means of as many steps as make 64 points at the most.
  Json curve() const;

 private:
  const CellProgress& progress_;
  std::string unit_;
  std::function<double(double)> value_;
  double seconds_ = 0;
  int64_t tokens_ = 0;
  report::Binned curve_{64};
};

}  // namespace longspan::tool
