// A mapped file of token numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "longspan/io/mapped_file.h"

namespace longspan {

/// Width of a stored token, little endian.
enum class TokenType { u8, u16, u32 };

/// The narrowest type that holds tokens 0 .. vocabulary - 1.
TokenType token_type_for(int64_t vocabulary);
/// Bytes per token.
int64_t size_of(TokenType type);
/// "uint8", "uint16", "uint32".
std::string_view name_of(TokenType type);

/// The tokens of one split, read where they lie. Movable; reading is safe from several threads.
class TokenFile {
 public:
  /// Throws InputError when the file cannot be read or its size is not a whole number of tokens.
  TokenFile(std::string path, TokenType type, int64_t vocabulary);
  /// The same of a file that is mapped already.
  TokenFile(MappedFile file, TokenType type, int64_t vocabulary);

  const std::string& path() const { return file_.path(); }
  /// Number of tokens.
  int64_t size() const { return size_; }
  /// Tokens are below this.
  int64_t vocabulary() const { return vocabulary_; }

  /// Tokens [begin, begin + count) to `out`. Throws InputError for a range outside [0, size()), and for a stored token
  /// outside the vocabulary (a damaged file).
  void copy_to(int64_t* out, int64_t begin, int64_t count) const;

 private:
  MappedFile file_;
  TokenType type_;
  int64_t vocabulary_;
  int64_t size_;
};

}  // namespace longspan
