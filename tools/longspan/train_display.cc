#include "train_display.h"

#include <cmath>
#include <numbers>

#include "interrupt.h"
#include "longspan/base/check.h"
#include "longspan/report/format.h"
#include "output.h"

namespace longspan::tool {

TrainDisplay::TrainDisplay(Options options)
    : options_(std::move(options)), line_(options_.title, options_.steps, options_.quiet) {}

double TrainDisplay::bits_per_byte(double loss) const { return loss / std::numbers::ln2 / options_.bytes_per_token; }

bool TrainDisplay::should_stop() { return interrupt_requested(); }

void TrainDisplay::on_step(const train::StepResult& step) {
  tokens_ += step.tokens;
  seconds_ += step.seconds;
  ++steps_;
  smooth_loss_ = steps_ == 1 ? step.loss : 0.9 * smooth_loss_ + 0.1 * step.loss;
  if (options_.json)
    print_json({{"event", "step"},
                {"step", step.step},
                {"loss", step.loss},
                {"bits_per_byte", bits_per_byte(step.loss)},
                {"lr", step.learning_rate},
                {"grad_norm", step.grad_norm},
                {"tokens", step.tokens},
                {"tokens_per_second", static_cast<double>(step.tokens) / step.seconds}});
  line_.update(step.step, str_cat(report::fixed(bits_per_byte(smooth_loss_), 3), " bits per byte, ",
                                  report::grouped(std::llround(static_cast<double>(tokens_) / seconds_)), " tokens/s"));
}

void TrainDisplay::on_validation(const train::ValidationResult& result) {
  validation_ = result;
  if (options_.json)
    print_json({{"event", "validation"},
                {"step", result.step},
                {"loss", result.loss},
                {"bits_per_byte", bits_per_byte(result.loss)},
                {"tokens", result.tokens}});
}

std::string TrainDisplay::summary(const std::string& folder, int64_t parameters) const {
  std::string text = str_cat(report::grouped(tokens_), " tokens in ", report::duration(seconds_), ", ",
                             report::grouped(parameters), " parameters");
  if (validation_) text += ", validation " + report::fixed(bits_per_byte(validation_->loss), 3) + " bits per byte";
  return text + "\nmodel: " + folder + "\n";
}

}  // namespace longspan::tool
