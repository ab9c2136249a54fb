// Comma-separated values as RFC 4180 defines them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "longspan/data/line_reader.h"

namespace longspan {

/// Reads records of fields. A field that begins with a quote goes to the next single quote; within it stand line
/// breaks, delimiters, and doubled quotes for one. Lines end with LF or CR LF; empty lines are passed over. Blanks are
/// part of a field.
///
/// Written here because readers of other projects do not say where a quote opened that is never closed, which is what
/// is mostly wrong with such files.
class CsvReader {
 public:
  /// `lines` must outlive this.
  CsvReader(LineReader& lines, char delimiter) : lines_(lines), delimiter_(delimiter) {}

  /// The fields of the next record; false at the end. Throws InputError "<name>:<line>:<column>: ..." for a quote that
  /// is not closed, text behind a closing quote, a quote within a field that does not begin with one, and a record of
  /// more than kLargestRecord bytes.
  bool next(std::vector<std::string>& fields);
  /// Line on which the record begins.
  int64_t line() const { return line_; }

 private:
  [[noreturn]] void fail(int64_t line, std::size_t column, std::string_view what) const;
  std::string quoted(std::string_view& line, std::size_t& at);
  std::string plain(std::string_view line, std::size_t& at) const;

  LineReader& lines_;
  char delimiter_;
  int64_t line_ = 0;
  std::size_t size_ = 0;  ///< bytes of the record in the lines before the one at hand
};

}  // namespace longspan
