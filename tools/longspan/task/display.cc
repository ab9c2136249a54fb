#include "tools/longspan/task/display.h"

#include "longspan/base/check.h"
#include "longspan/report/format.h"
#include "longspan/train/history.h"
#include "tools/longspan/interrupt.h"
#include "tools/longspan/output.h"

namespace longspan::tool {

std::string metrics_text(const metrics::Metrics& metrics) {
  std::string text;
  for (const auto& [name, value] : metrics)
    text += str_cat(text.empty() ? "" : ", ", name, " ", report::fixed(value, 4));
  return text;
}

TaskDisplay::TaskDisplay(int64_t steps, bool json, bool quiet) : json_(json), line_("task train", steps, quiet) {}

bool TaskDisplay::should_stop() { return interrupt_requested(); }

void TaskDisplay::on_step(const train::StepResult& step) {
  totals_.add(step);
  if (json_) print_json(train::to_json(step, 0));
  std::string detail = str_cat("loss ", report::fixed(totals_.smooth_loss(), 3), ", ", totals_.speed());
  if (validation_) detail += ", " + metrics_text({validation_->metrics.front()});
  line_.update(step.step, detail);
}

void TaskDisplay::on_validation(const train::ValidationResult& result) {
  validation_ = result;
  if (json_) print_json(train::to_json(result));
}

std::string TaskDisplay::summary(const std::string& folder, int64_t parameters) const {
  std::string text = totals_.summary(parameters);
  if (validation_)
    text +=
        str_cat("\nvalidation: loss ", report::fixed(validation_->loss, 4), ", ", metrics_text(validation_->metrics));
  return text + "\nmodel: " + folder + "\n";
}

}  // namespace longspan::tool
