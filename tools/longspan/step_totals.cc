#include "step_totals.h"

#include <cmath>

#include "longspan/base/check.h"
#include "longspan/report/format.h"

namespace longspan::tool {

void StepTotals::add(const train::StepResult& step) {
  tokens_ += step.tokens;
  seconds_ += step.seconds;
  ++steps_;
  smooth_loss_ = steps_ == 1 ? step.loss : 0.9 * smooth_loss_ + 0.1 * step.loss;
}

std::string StepTotals::speed() const {
  return report::grouped(std::llround(static_cast<double>(tokens_) / seconds_)) + " tokens/s";
}

std::string StepTotals::summary(int64_t parameters) const {
  return str_cat(report::grouped(tokens_), " tokens in ", report::duration(seconds_), ", ", report::grouped(parameters),
                 " parameters");
}

}  // namespace longspan::tool
