// Tables from plain cells, for a terminal and for HTML.
#pragma once

#include <string>
#include <vector>

namespace longspan::report {

struct Column {
  std::string title;
  bool numeric = false;  ///< aligned right
};

/// Every row has as many cells as there are columns (InternalError otherwise).
struct Table {
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;
};

/// Aligned columns, a rule under the titles, one line per row.
std::string to_text(const Table& table);

/// A table of Markdown; a bar in a cell is escaped.
std::string to_markdown(const Table& table);

/// A <table> that scrolls sideways where it is wider than the page; cells are escaped.
std::string to_html(const Table& table);

/// `html` in an element that scrolls sideways by itself, by touch and by keyboard; `name` says what it is.
std::string scrolling(const std::string& html, const std::string& name);

}  // namespace longspan::report
