#include "train_display.h"

#include "interrupt.h"
#include "longspan/base/check.h"
#include "longspan/metrics/likelihood.h"
#include "longspan/report/format.h"
#include "longspan/train/history.h"
#include "output.h"

namespace longspan::tool {

TrainDisplay::TrainDisplay(Options options)
    : options_(std::move(options)), line_(options_.title, options_.steps, options_.quiet) {}

double TrainDisplay::bits_per_byte(double loss) const { return metrics::bits_per_byte(loss, options_.bytes_per_token); }

bool TrainDisplay::should_stop() { return interrupt_requested(); }

void TrainDisplay::on_step(const train::StepResult& step) {
  totals_.add(step);
  if (options_.json) print_json(train::to_json(step, options_.bytes_per_token));
  std::string detail =
      str_cat(report::fixed(bits_per_byte(totals_.smooth_loss()), 3), " bits per byte, ", totals_.speed());
  if (options_.remark)
    if (const auto remark = options_.remark(static_cast<double>(step.step) / static_cast<double>(options_.steps));
        !remark.empty())
      detail += ", " + remark;
  line_.update(step.step, detail);
}

void TrainDisplay::on_validation(const train::ValidationResult& result) {
  validation_ = result;
  if (options_.json) print_json(train::to_json(result));
}

std::string TrainDisplay::summary(const std::string& folder, int64_t parameters) const {
  std::string text = totals_.summary(parameters);
  if (validation_) text += ", validation " + report::fixed(train::bits_per_byte(*validation_), 3) + " bits per byte";
  return text + "\nmodel: " + folder + "\n";
}

}  // namespace longspan::tool
