// The page of one training run, written again and again while it works.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "longspan/io/json.h"
#include "longspan/report/binned.h"
#include "longspan/report/html.h"

namespace longspan::report {

struct TrainingRun {
  enum class Status { running, done, stopped, failed };

  std::string name;
  Status status = Status::running;
  int64_t step = 0, steps = 0;                                   ///< done, of how many
  double seconds_left = 0;                                       ///< while running; 0: not known yet
  std::string written;                                           ///< when, for a person
  int64_t checkpoint = 0;                                        ///< step of the last one, 0: none yet
  std::vector<int64_t> resumed;                                  ///< steps from which the run went on in a new process
  Binned loss, gradient_norm, learning_rate, tokens_per_second;  ///< by step
  Points validation;                                             ///< (step, loss)
  std::string loss_unit = "bits per byte";                       ///< of both
  std::vector<std::pair<std::string, std::string>> facts;        ///< of model and data
  std::vector<std::pair<std::string, std::string>> machine;      ///< machine and versions
  Json options;                                                  ///< the complete configuration
  std::vector<std::pair<std::string, std::string>> commands;     ///< what it does, the command
  std::string prompt, sample;                                    ///< text that the model has continued; "" = none
};

/// Seconds after which a browser loads the page of a run that is at work again.
inline constexpr int kRefreshSeconds = 15;

HtmlPage training_page(const TrainingRun& run);

}  // namespace longspan::report
