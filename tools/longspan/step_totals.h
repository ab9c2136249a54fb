// What the steps of a run come to, for its progress line and its last words.
#pragma once

#include <cstdint>
#include <string>

#include "longspan/train/train.h"

namespace longspan::tool {

class StepTotals {
 public:
  void add(const train::StepResult& step);

  int64_t tokens() const { return tokens_; }
  double seconds() const { return seconds_; }  ///< of the steps, validation apart
  /// The last losses weigh more: 0.9 of what it was and 0.1 of the step's.
  double smooth_loss() const { return smooth_loss_; }
  /// "12,345 tokens/s"
  std::string speed() const;
  /// "122,880 tokens in 2 s, 834,800 parameters"
  std::string summary(int64_t parameters) const;

 private:
  int64_t tokens_ = 0, steps_ = 0;
  double seconds_ = 0, smooth_loss_ = 0;
};

}  // namespace longspan::tool
