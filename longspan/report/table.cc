#include "longspan/report/table.h"

#include <algorithm>

#include "longspan/base/check.h"
#include "longspan/report/format.h"
#include "longspan/report/html.h"

namespace longspan::report {

namespace {

void check(const Table& table) {
  for (const auto& row : table.rows)
    LONGSPAN_ASSERT(row.size() == table.columns.size(), row.size(), " cells for ", table.columns.size(), " columns");
}

std::string without_trailing_blanks(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

}  // namespace

std::string to_text(const Table& table) {
  check(table);
  std::vector<std::size_t> widths;
  for (const Column& column : table.columns) widths.push_back(characters(column.title));
  for (const auto& row : table.rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], characters(row[i]));

  const auto line = [&](const auto& cell) {
    std::string text;
    for (std::size_t i = 0; i < table.columns.size(); ++i)
      text +=
          (i ? "  " : "") + (table.columns[i].numeric ? pad_left(cell(i), widths[i]) : pad_right(cell(i), widths[i]));
    return without_trailing_blanks(std::move(text));
  };
  std::string out = line([&](std::size_t i) { return table.columns[i].title; });
  out += line([&](std::size_t i) { return std::string(widths[i], '-'); });
  for (const auto& row : table.rows) out += line([&](std::size_t i) { return row[i]; });
  return out;
}

std::string to_markdown(const Table& table) {
  check(table);
  const auto line = [&](const auto& cell) {
    std::string text = "|";
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      text += " ";
      for (const char c : cell(i)) text += c == '|' ? std::string("\\|") : std::string(1, c);
      text += " |";
    }
    return text + "\n";
  };
  std::string out = line([&](std::size_t i) { return table.columns[i].title; }) + "|";
  for (const Column& column : table.columns) out += column.numeric ? "---:|" : "---|";
  out += "\n";
  for (const auto& row : table.rows) out += line([&](std::size_t i) { return row[i]; });
  return out;
}

std::string to_html(const Table& table) {
  check(table);
  const auto cells = [&](const char* tag, const auto& cell) {
    std::string out = "<tr>";
    for (std::size_t i = 0; i < table.columns.size(); ++i)
      out += std::string("<") + tag + (table.columns[i].numeric ? " class=\"n\">" : ">") + escape(cell(i)) + "</" +
             tag + ">";
    return out + "</tr>\n";
  };
  std::string out =
      "<table>\n<thead>" + cells("th", [&](std::size_t i) { return table.columns[i].title; }) + "</thead>\n<tbody>\n";
  for (const auto& row : table.rows) out += cells("td", [&](std::size_t i) { return row[i]; });
  return scrolling(out + "</tbody>\n</table>\n", "table");
}

std::string scrolling(const std::string& html, const std::string& name) {
  return "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"" + escape(name) + "\">" + html + "</div>\n";
}

}  // namespace longspan::report
