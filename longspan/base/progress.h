// How library code tells a program what it is doing. The library itself never prints.
#pragma once

#include <cstdint>
#include <string_view>

namespace longspan {

/// Where a long operation stands.
struct ProgressReport {
  std::string_view activity;  ///< "prepare", "train", ...
  std::string_view unit;      ///< what is counted: "bytes", "steps", ...
  int64_t done = 0;
  int64_t total = 0;      ///< 0: not known
  double per_second = 0;  ///< units of `done` per second so far, 0: not known
};

/// Receives what happens, on the thread of the call. Views are valid only during the call.
class Progress {
 public:
  virtual ~Progress() = default;
  /// One line for a person, without a line break.
  virtual void message(std::string_view text) = 0;
  /// Called as often as the operation finds handy; an implementation limits its own rate of drawing.
  virtual void report(const ProgressReport& report) = 0;
};

/// Ignores everything.
class NullProgress final : public Progress {
 public:
  void message(std::string_view) override {}
  void report(const ProgressReport&) override {}
};

}  // namespace longspan
