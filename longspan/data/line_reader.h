// The lines of a text with their numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "longspan/io/byte_source.h"

namespace longspan {

class LineReader {
 public:
  /// `source` must outlive this; `name` is for messages. A byte order mark of UTF-8 at the start is passed over.
  LineReader(ByteSource& source, std::string name);

  /// The next line, without its line feed but with a carriage return before that; valid until the next call. False at
  /// the end. Throws InputError for UTF-16, by its byte order mark, and for a line of more than kLargestRecord bytes.
  bool next(std::string_view& line);
  /// Number of the line that next() gave, from 1.
  int64_t number() const { return number_; }
  const std::string& name() const { return name_; }
  /// Whether anything was read.
  bool any() const { return any_; }

 private:
  void fill();
  void begin();

  ByteSource& source_;
  std::string name_;
  std::vector<char> buffer_;
  std::string held_;  ///< a line that goes beyond the buffer
  std::size_t at_ = 0, end_ = 0;
  bool ended_ = false, any_ = false;
  int64_t number_ = 0;
};

/// Without a byte order mark of UTF-8. Throws InputError "<name>: ..." for one of UTF-16.
std::string_view without_byte_order_mark(std::string_view start, const std::string& name);

}  // namespace longspan
