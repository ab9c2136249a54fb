// Text to token numbers and back.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "longspan/base/fields.h"

namespace longspan {

/// A tokenizer: decode(encode(text)) == text for every text, whatever its bytes. Immutable, safe for several threads.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// Registered name: "bytes".
  virtual std::string name() const = 0;
  /// Tokens are 0 .. vocabulary_size() - 1.
  virtual int64_t vocabulary_size() const = 0;
  virtual std::vector<uint32_t> encode(std::string_view text) const = 0;
  /// Throws InputError for a token outside the vocabulary.
  virtual std::string decode(std::span<const uint32_t> tokens) const = 0;
  /// What make_tokenizer() needs to build it again; the content of `tokenizer.json`.
  virtual FieldValues description() const = 0;
};

/// The tokenizer of a description. Throws InputError "<origin>: ..." for an unknown name or a field that does not fit.
std::unique_ptr<Tokenizer> make_tokenizer(const FieldValues& description, std::string_view origin);

/// Names that make_tokenizer() knows.
std::vector<std::string> tokenizer_names();

}  // namespace longspan
