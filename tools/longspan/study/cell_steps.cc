#include "tools/longspan/study/cell_steps.h"

#include "longspan/base/check.h"
#include "longspan/report/format.h"
#include "tools/longspan/interrupt.h"

namespace longspan::tool {

void CellSteps::on_step(const train::StepResult& step) {
  seconds_ += step.seconds;
  tokens_ += step.tokens;
  const double value = value_(step.loss);
  curve_.add(static_cast<double>(step.step), value);
  progress_(step.step, str_cat(report::fixed(value, 2), " ", unit_));
}

bool CellSteps::should_stop() { return interrupt_requested(); }

Json CellSteps::curve() const {
  Json steps = Json::array(), values = Json::array();
  for (const auto& bin : curve_.bins()) {
    steps.push_back(bin.x);
    values.push_back(bin.mean);
  }
  return {{"steps", steps}, {"value", values}};
}

}  // namespace longspan::tool
