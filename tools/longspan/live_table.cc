#include "live_table.h"

#include <algorithm>

#include "longspan/base/check.h"
#include "longspan/report/format.h"

namespace longspan::tool {

LiveTable::LiveTable(std::vector<report::Column> columns, std::vector<std::size_t> widths)
    : columns_(std::move(columns)), widths_(std::move(widths)) {
  widths_.resize(columns_.size());
  for (std::size_t i = 0; i < columns_.size(); ++i)
    widths_[i] = std::max(widths_[i], report::characters(columns_[i].title));
}

std::string LiveTable::line(const std::vector<std::string>& cells) const {
  LONGSPAN_ASSERT(cells.size() == columns_.size(), cells.size(), " cells for ", columns_.size(), " columns");
  std::string text;
  for (std::size_t i = 0; i < cells.size(); ++i)
    text += (i ? "  " : "") +
            (columns_[i].numeric ? report::pad_left(cells[i], widths_[i]) : report::pad_right(cells[i], widths_[i]));
  text.erase(text.find_last_not_of(' ') + 1);
  return text + "\n";
}

std::string LiveTable::add(const std::vector<std::string>& cells) {
  if (begun_) return line(cells);
  begun_ = true;
  std::vector<std::string> titles, rule;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    titles.push_back(columns_[i].title);
    rule.emplace_back(widths_[i], '-');
  }
  return line(titles) + line(rule) + line(cells);
}

}  // namespace longspan::tool
