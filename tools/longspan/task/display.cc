#include "tools/longspan/task/display.h"

#include <cmath>

#include "longspan/base/check.h"
#include "longspan/report/format.h"
#include "longspan/train/history.h"
#include "tools/longspan/interrupt.h"
#include "tools/longspan/output.h"

namespace longspan::tool {

std::string metrics_text(const tasks::Metrics& metrics) {
  std::string text;
  for (const auto& [name, value] : metrics)
    text += str_cat(text.empty() ? "" : ", ", name, " ", report::fixed(value, 4));
  return text;
}

TaskDisplay::TaskDisplay(int64_t steps, bool json, bool quiet) : json_(json), line_("task train", steps, quiet) {}

bool TaskDisplay::should_stop() { return interrupt_requested(); }

void TaskDisplay::on_step(const train::StepResult& step) {
  tokens_ += step.tokens;
  seconds_ += step.seconds;
  ++steps_;
  smooth_loss_ = steps_ == 1 ? step.loss : 0.9 * smooth_loss_ + 0.1 * step.loss;
  if (json_) print_json(train::to_json(step, 0));
  std::string detail = str_cat("loss ", report::fixed(smooth_loss_, 3), ", ",
                               report::grouped(std::llround(static_cast<double>(tokens_) / seconds_)), " tokens/s");
  if (validation_) detail += ", " + metrics_text({validation_->metrics.front()});
  line_.update(step.step, detail);
}

void TaskDisplay::on_validation(const train::ValidationResult& result) {
  validation_ = result;
  if (json_) print_json(train::to_json(result));
}

std::string TaskDisplay::summary(const std::string& folder, int64_t parameters) const {
  std::string text = str_cat(report::grouped(tokens_), " tokens in ", report::duration(seconds_), ", ",
                             report::grouped(parameters), " parameters");
  if (validation_)
    text +=
        str_cat("\nvalidation: loss ", report::fixed(validation_->loss, 4), ", ", metrics_text(validation_->metrics));
  return text + "\nmodel: " + folder + "\n";
}

}  // namespace longspan::tool
