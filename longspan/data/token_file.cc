#include "longspan/data/token_file.h"

#include <bit>
#include <cstring>
#include <utility>

#include "longspan/base/check.h"

namespace longspan {

static_assert(std::endian::native == std::endian::little, "tokens are little endian and are read as they lie");

namespace {

/// Copies and widens; returns the index of the first token outside the vocabulary, or `count`.
template <class T>
int64_t widen(const std::byte* from, int64_t* out, int64_t count, int64_t vocabulary) {
  // A whole buffer is copied before the check, so that the usual case is a loop without branches.
  int64_t largest = 0;
  for (int64_t i = 0; i < count; ++i) {
    T token;
    std::memcpy(&token, from + i * sizeof(T), sizeof(T));
    out[i] = static_cast<int64_t>(token);
    largest = out[i] > largest ? out[i] : largest;
  }
  if (largest < vocabulary) return count;
  int64_t i = 0;
  while (out[i] < vocabulary) ++i;
  return i;
}

}  // namespace

TokenType token_type_for(int64_t vocabulary) {
  LONGSPAN_CHECK(vocabulary >= 1 && vocabulary <= int64_t{1} << 32, "vocabulary must be from 1 to 2^32, got ",
                 vocabulary);
  if (vocabulary <= 256) return TokenType::u8;
  return vocabulary <= 65536 ? TokenType::u16 : TokenType::u32;
}

int64_t size_of(TokenType type) { return type == TokenType::u8 ? 1 : type == TokenType::u16 ? 2 : 4; }

std::string_view name_of(TokenType type) {
  return type == TokenType::u8 ? "uint8" : type == TokenType::u16 ? "uint16" : "uint32";
}

TokenFile::TokenFile(std::string path, TokenType type, int64_t vocabulary)
    : TokenFile(MappedFile(std::move(path)), type, vocabulary) {}

TokenFile::TokenFile(MappedFile file, TokenType type, int64_t vocabulary)
    : file_(std::move(file)), type_(type), vocabulary_(vocabulary) {
  const auto bytes = static_cast<int64_t>(file_.bytes().size());
  LONGSPAN_CHECK(bytes % size_of(type) == 0, this->path(), ": ", bytes, " bytes are not a whole number of ",
                 name_of(type), " tokens");
  size_ = bytes / size_of(type);
}

void TokenFile::copy_to(int64_t* out, int64_t begin, int64_t count) const {
  LONGSPAN_CHECK(begin >= 0 && count >= 0 && begin <= size_ && count <= size_ - begin, path(), ": ", count,
                 " tokens from ", begin, " on are asked for, it holds ", size_);
  const std::byte* from = file_.bytes().data() + begin * size_of(type_);
  int64_t good = 0;
  switch (type_) {
    case TokenType::u8:
      good = widen<uint8_t>(from, out, count, vocabulary_);
      break;
    case TokenType::u16:
      good = widen<uint16_t>(from, out, count, vocabulary_);
      break;
    case TokenType::u32:
      good = widen<uint32_t>(from, out, count, vocabulary_);
      break;
  }
  LONGSPAN_CHECK(good == count, path(), ": token ", begin + good, " is ", out[good], ", outside the vocabulary of ",
                 vocabulary_);
}

}  // namespace longspan
