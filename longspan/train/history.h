// What a run did, step by step, in a file that grows while it works.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "longspan/io/json.h"
#include "longspan/train/train.h"

namespace longspan::train {

/// {"event": "step", step, loss, bits_per_byte, lr, grad_norm, tokens, tokens_per_second}, as the program prints it
/// too. `bytes_per_token` 0: targets are no text, and nothing is said of bits per byte.
Json to_json(const StepResult& result, double bytes_per_token);
/// {"event": "validation", step, loss, bits_per_byte, tokens}; of a task the metrics instead of bits per byte.
Json to_json(const ValidationResult& result);
/// Bits of the targets divided by the bytes of text behind them.
double bits_per_byte(const ValidationResult& result);

/// `<model folder>/history.jsonl`: one JSON object a line for every step, validation ("validation"), checkpoint
/// ("checkpoint": step) and process that worked on the run ("start": step that it began behind, steps of the whole run,
/// threads, and, where they are known, its command line and its data in words). Every line is handed to the system at
/// once, so that a killed process loses none.
class History final : public TrainObserver {
 public:
  static constexpr const char* kFile = "history.jsonl";

  /// Opens the file for a run that has done `step` steps; 0: a new one, which begins a new file. Of what is there
  /// already, lines of later steps go: the run takes those steps again. So does whatever is no line, such as the half
  /// of one that a killed process leaves. `on_event` is told what stays, in order. `bytes_per_token`: bytes of text in
  /// a token. RunError when the file cannot be read or written.
  History(std::string path, int64_t step, double bytes_per_token,
          const std::function<void(const Json&)>& on_event = {});
  History(const History&) = delete;
  History& operator=(const History&) = delete;
  ~History() override;

  /// RunError when it cannot be written, as from the observer's functions.
  void start(int64_t step, int64_t steps, int threads, const std::string& command = "", const std::string& data = "");
  void on_step(const StepResult& result) override;
  void on_validation(const ValidationResult& result) override;
  void on_checkpoint(int64_t step) override;

 private:
  void append(const Json& event);

  std::string path_;
  double bytes_per_token_;
  int descriptor_ = -1;
};

}  // namespace longspan::train
