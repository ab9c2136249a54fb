// How far a long job is, on stderr: one line that is rewritten on a terminal, a plain line every few seconds elsewhere.
#pragma once

#include <cstdint>
#include <string>

namespace longspan::tool {

class ProgressLine {
 public:
  enum class Unit { count, bytes };

  /// `what` starts every line; total 0: not known, and no time left is shown; quiet: writes nothing.
  ProgressLine(std::string what, int64_t total, bool quiet, Unit unit = Unit::count);
  /// Ends the line.
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void set_total(int64_t total) { total_ = total; }
  /// `done` of the total are behind us; `detail` says more ("loss 1.52, 20.1K tokens/s"). The time left is extrapolated
  /// from the pace since the first update.
  void update(int64_t done, const std::string& detail = "");
  /// Shows the last update even if it came too soon after another, and ends the line. Called by the destructor.
  void finish();

 private:
  std::string amount(int64_t value) const;
  void write(const std::string& text, bool last);

  std::string what_;
  int64_t total_;
  bool quiet_, terminal_;
  Unit unit_;
  double started_ = 0, shown_ = 0;
  int64_t first_done_ = -1;
  std::string pending_;
  std::size_t width_ = 0;
  bool open_ = false;
};

}  // namespace longspan::tool
