// One token per byte.
#pragma once

#include "longspan/text/tokenizer.h"

namespace longspan {

/// 256 tokens; token b is the byte b. Cutting a text anywhere cuts its tokens there.
class ByteTokenizer final : public Tokenizer {
 public:
  std::string name() const override { return "bytes"; }
  int64_t vocabulary_size() const override { return 256; }
  std::vector<uint32_t> encode(std::string_view text) const override;
  std::string decode(std::span<const uint32_t> tokens) const override;
  FieldValues description() const override;
};

}  // namespace longspan
