// Surprising places of a text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "longspan/io/json.h"

namespace longspan::tool {

/// A token that the model did not expect.
struct Mark {
  int64_t offset = 0;  ///< of its first byte in the stream
  int64_t line = 1;
  double bits = 0;      ///< -log2 of its probability
  std::string context;  ///< bytes before it
  std::string text;     ///< its bytes
};

/// "offset 1042  line 17   9.81 bits  ...was ca[l]", the token in colour instead of brackets with `colour`.
std::string to_line(const Mark& mark, bool colour);
/// event, offset, line, bits, text, context: the texts as they are. Where one is not UTF-8, which JSON cannot hold, its
/// bytes stand beside it as numbers (bytes, context_bytes).
Json to_json(const Mark& mark);

/// The `most` marks with the most bits, the earlier of equals.
class TopMarks {
 public:
  explicit TopMarks(std::size_t most) : most_(most) {}
  /// Whether a mark of so many bits at a later place than all before would be kept.
  bool wants(double bits) const;
  void add(Mark mark);
  /// From the most surprising down.
  std::vector<Mark> sorted() const;

 private:
  std::size_t most_;
  std::vector<Mark> heap_;  ///< the least at the front
};

}  // namespace longspan::tool
