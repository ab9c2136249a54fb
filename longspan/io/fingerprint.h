// Fingerprints that bind a state or a checkpoint to the model it came from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace longspan {

/// A running 128-bit fingerprint of bytes, against mix-ups and damage (not against forgery). Two lanes of 64 bits, each
/// multiplied and folded once per 8 bytes, closed with the length.
class Fingerprint {
 public:
  void add(const void* bytes, std::size_t size);
  void add(std::string_view text) { add(text.data(), text.size()); }
  /// 32 hexadecimal digits.
  std::string hex() const;

 private:
  void word(uint64_t value);
  uint64_t a_ = 0x9e3779b97f4a7c15u;
  uint64_t b_ = 0xc2b2ae3d27d4eb4fu;
};

}  // namespace longspan
