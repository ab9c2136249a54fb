// The normalisation that SentencePiece compiles into its models.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "longspan/text/subword/normalizer.h"

namespace longspan {

/// "Precompiled": a table from short texts to what takes their place, as a double-array trie. As the library
/// `tokenizers` applies it: to a cluster of characters of less than 6 bytes as a whole, else to each character; of
/// several entries that a text begins with the shortest.
class PrecompiledNormalizer final : public Normalizer {
 public:
  /// `charsmap`: base64. Throws InputError "<owner>: ..." for a damaged one.
  PrecompiledNormalizer(std::string_view charsmap, std::string_view owner);
  void apply(AlignedText& text, Regex::Scratch&) const override;
  CutPlaces cuts() const override { return kCutAtBlanks; }

 private:
  /// What takes the place of `text`, if anything does.
  std::optional<std::string_view> replacement(std::string_view text) const;
  std::vector<uint32_t> units_;
  std::string texts_;  ///< each ended by a zero
};

}  // namespace longspan
