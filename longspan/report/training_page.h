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

/// What one process did of a run.
struct TrainingSession {
  int64_t step = 0;     ///< that it began behind
  std::string command;  ///< its command line, "" = not known
  std::string data;     ///< what it trained on, in words, "" = not known
};

struct TrainingRun {
  enum class Status { running, done, stopped, failed };

  std::string name;
  Status status = Status::running;
  int64_t step = 0, steps = 0;                                   ///< done, of how many
  double seconds_left = 0;                                       ///< while running; 0: not known yet
  std::string written;                                           ///< when, for a person
  int64_t checkpoint = 0;                                        ///< step of the last one, 0: none yet
  std::vector<TrainingSession> sessions;                         ///< in order; a run that was never stopped has one
  Binned loss, gradient_norm, learning_rate, tokens_per_second;  ///< by step
  Points validation;                                             ///< (step, loss)
  std::string loss_unit = "bits per byte";                       ///< of both
  std::vector<std::pair<std::string, std::string>> facts;        ///< of the model
  std::vector<std::pair<std::string, std::string>> machine;      ///< machine and versions
  Json options;                                                  ///< the complete configuration
  std::string resume, extend;                                    ///< commands that go on: to the end; beyond it
  std::vector<std::pair<std::string, std::string>> commands;     ///< what else can be done, the command
  std::string prompt, sample;                                    ///< text that the model has continued; "" = none
};

/// Seconds after which a browser loads the page of a run that is at work again.
inline constexpr int kRefreshSeconds = 15;

HtmlPage training_page(const TrainingRun& run);

}  // namespace longspan::report
