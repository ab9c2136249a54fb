// Bytes read once, from front to back.
#pragma once

#include <cstddef>

namespace longspan {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Up to `size` (at least 1) of the next bytes to `out`. Returns how many; 0 only at the end.
  virtual std::size_t read(char* out, std::size_t size) = 0;
};

}  // namespace longspan
