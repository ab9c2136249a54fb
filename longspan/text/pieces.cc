#include "longspan/text/pieces.h"

namespace longspan {

void Pieces::push(std::string_view bytes) {
  buffer_.erase(0, begin_);
  begin_ = 0;
  buffer_ += bytes;
  finished_ = false;
}

bool Pieces::next(std::string_view& piece) {
  const std::string_view rest = std::string_view(buffer_).substr(begin_);
  if (rest.empty()) return false;
  const std::size_t size = tokenizer_.piece_end(rest, finished_);
  piece = rest.substr(0, size);
  begin_ += size;
  return size > 0;
}

}  // namespace longspan
