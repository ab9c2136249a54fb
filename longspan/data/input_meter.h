// How far the reading of a list of files is.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>
#include <vector>

#include "longspan/base/progress.h"
#include "longspan/data/text_inputs.h"

namespace longspan {

/// Reports bytes as they lie to a Progress; the total is 0 when a pipe is among the files.
class InputMeter {
 public:
  /// `activity` and `progress` must outlive this.
  InputMeter(std::string_view activity, Progress& progress);
  /// These files will be read too.
  void expect(const std::vector<TextInput>& inputs);
  /// The file at hand has been read up to `position`.
  void at(int64_t position);
  /// The next file begins.
  void next() { before_ = last_; }
  /// Nothing has come.
  void wait() { at(last_ - before_); }

 private:
  std::string_view activity_;
  Progress& progress_;
  bool known_ = true;
  int64_t total_ = 0, before_ = 0, last_ = 0;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace longspan
