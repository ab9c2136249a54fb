#include "longspan/data/csv_reader.h"

#include <algorithm>

#include "longspan/base/check.h"
#include "longspan/data/records.h"

namespace longspan {

namespace {

/// Whether the line ends at `at`.
bool at_end(std::string_view line, std::size_t at) {
  return at == line.size() || (at + 1 == line.size() && line[at] == '\r');
}

}  // namespace

void CsvReader::fail(int64_t line, std::size_t column, std::string_view what) const {
  throw InputError(str_cat(lines_.name(), ":", line, ":", column + 1, ": ", what));
}

bool CsvReader::next(std::vector<std::string>& fields) {
  std::string_view line;
  do {
    if (!lines_.next(line)) return false;
  } while (at_end(line, 0));
  line_ = lines_.number();
  size_ = 0;
  fields.clear();
  for (std::size_t at = 0;; ++at) {
    fields.push_back(at < line.size() && line[at] == '"' ? quoted(line, at) : plain(line, at));
    if (at_end(line, at)) return true;
  }
}

std::string CsvReader::quoted(std::string_view& line, std::size_t& at) {
  const int64_t first_line = lines_.number();
  const std::size_t first_column = at;
  std::string field;
  for (++at;;) {
    const std::size_t quote = line.find('"', at);
    if (quote == std::string_view::npos) {
      field += line.substr(at);
      field += '\n';
      size_ += line.size() + 1;
      if (!lines_.next(line)) fail(first_line, first_column, "the quote that opens here is never closed");
      if (size_ + line.size() > static_cast<std::size_t>(kLargestRecord))
        fail(first_line, first_column,
             str_cat("the quote that opens here is not closed within ", kLargestRecord, " bytes"));
      at = 0;
      continue;
    }
    field += line.substr(at, quote - at);
    at = quote + 1;
    if (at < line.size() && line[at] == '"') {
      field += '"';
      ++at;
      continue;
    }
    if (!at_end(line, at) && line[at] != delimiter_)
      fail(lines_.number(), at, "expected the end of the field after a closing quote (a quote within one is doubled)");
    return field;
  }
}

std::string CsvReader::plain(std::string_view line, std::size_t& at) const {
  std::size_t end = std::min(line.find(delimiter_, at), line.size());
  if (end == line.size() && line.ends_with('\r')) end = std::max(at, line.size() - 1);
  const std::string_view field = line.substr(at, end - at);
  if (const std::size_t quote = field.find('"'); quote != std::string_view::npos)
    fail(lines_.number(), at + quote, "a quote within a field that does not begin with one");
  at = end;
  return std::string(field);
}

}  // namespace longspan
