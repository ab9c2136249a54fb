// Keeps history.jsonl and report.html of a training run up to date while it works.
#pragma once

#include <optional>
#include <string>

#include "longspan/report/training_page.h"
#include "longspan/train/history.h"

namespace longspan::tool {

/// Training matters more than what is written about it: when either file cannot be written, a warning says so once and
/// the run goes on without them.
class RunRecorder final : public train::TrainObserver {
 public:
  static constexpr const char* kPage = "report.html";

  /// Nothing is read or written before the first event of the run. `page` has what does not change (name, steps, facts,
  /// machine, options, commands), the step that the run begins behind and, as its only session, what this process does.
  /// bytes_per_token 0: of a task, whose losses are shown as they are.
  RunRecorder(std::string folder, report::TrainingRun page, double bytes_per_token);
  /// A run that did not finish() has failed: the page says so.
  ~RunRecorder() override;
  RunRecorder(const RunRecorder&) = delete;
  RunRecorder& operator=(const RunRecorder&) = delete;

  void on_step(const train::StepResult& result) override;
  void on_validation(const train::ValidationResult& result) override;
  void on_checkpoint(int64_t step) override;

  /// The last page; `prompt` and `sample` may be "".
  void finish(report::TrainingRun::Status status, const std::string& prompt = "", const std::string& sample = "");

 private:
  template <class Action>
  void attempt(const Action& action);
  void note(const Json& event);
  void add(const report::TrainingSession& session);
  void write_page();
  void write_page_if_due();

  std::string folder_;
  report::TrainingRun page_;
  double bytes_per_token_;
  report::TrainingSession own_;
  const char* loss_;  ///< what of an event the page shows as the loss
  std::optional<train::History> history_;
  bool off_ = false, finished_ = false;
  int64_t first_step_ = 0;
  double started_ = 0, next_page_ = 0;
};

/// Several observers as one; a run stops when any of them says so.
class Observers final : public train::TrainObserver {
 public:
  explicit Observers(std::vector<train::TrainObserver*> all) : all_(std::move(all)) {}
  void on_step(const train::StepResult& result) override {
    for (auto* each : all_) each->on_step(result);
  }
  void on_validation(const train::ValidationResult& result) override {
    for (auto* each : all_) each->on_validation(result);
  }
  void on_checkpoint(int64_t step) override {
    for (auto* each : all_) each->on_checkpoint(step);
  }
  bool should_stop() override {
    bool stop = false;
    for (auto* each : all_) stop = each->should_stop() || stop;
    return stop;
  }

 private:
  std::vector<train::TrainObserver*> all_;
};

}  // namespace longspan::tool
