// A table whose rows are shown as soon as they are known, so its widths are chosen beforehand.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "longspan/report/table.h"

namespace longspan::tool {

class LiveTable {
 public:
  /// A column is as wide as its title, and at least as `widths` says (none: as the title); a longer cell moves the rest
  /// of its line.
  LiveTable(std::vector<report::Column> columns, std::vector<std::size_t> widths);
  /// The line of a row, before the first one that of the titles and a rule.
  std::string add(const std::vector<std::string>& cells);

 private:
  std::string line(const std::vector<std::string>& cells) const;

  std::vector<report::Column> columns_;
  std::vector<std::size_t> widths_;
  bool begun_ = false;
};

}  // namespace longspan::tool
