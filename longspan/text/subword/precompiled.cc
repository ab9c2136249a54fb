#include "longspan/text/subword/precompiled.h"

#include <cstring>

#include "longspan/base/check.h"
#include "longspan/text/subword/base64.h"
#include "longspan/text/subword/unicode.h"

namespace longspan {

namespace {

constexpr std::size_t kLongestCluster = 5;  // in bytes

// A unit of the trie (Aoe's double array as the library Darts-clone lays it out).
bool has_leaf(uint32_t unit) { return (unit >> 8 & 1) != 0; }
uint32_t value_of(uint32_t unit) { return unit & 0x7FFFFFFFu; }
uint32_t label_of(uint32_t unit) { return unit & 0x800000FFu; }
uint32_t offset_of(uint32_t unit) { return (unit >> 10) << ((unit & (1u << 9)) >> 6); }

}  // namespace

PrecompiledNormalizer::PrecompiledNormalizer(std::string_view charsmap, std::string_view owner) {
  const auto bytes = from_base64(charsmap);
  LONGSPAN_CHECK(bytes, owner, ": precompiled_charsmap is not base64");
  uint32_t size = 0;
  if (bytes->size() >= sizeof(size)) std::memcpy(&size, bytes->data(), sizeof(size));
  LONGSPAN_CHECK(size > 0 && size % sizeof(uint32_t) == 0 && size <= bytes->size() - sizeof(size), owner,
                 ": precompiled_charsmap is damaged");
  units_.resize(size / sizeof(uint32_t));
  std::memcpy(units_.data(), bytes->data() + sizeof(size), size);
  texts_ = bytes->substr(sizeof(size) + size);
  LONGSPAN_CHECK(texts_.empty() || texts_.back() == '\0', owner, ": precompiled_charsmap is damaged");
}

std::optional<std::string_view> PrecompiledNormalizer::replacement(std::string_view text) const {
  uint32_t at = offset_of(units_[0]);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    at ^= byte;
    if (byte == 0 || at >= units_.size() || label_of(units_[at]) != byte) return std::nullopt;
    const uint32_t unit = units_[at];
    at ^= offset_of(unit);
    if (!has_leaf(unit)) continue;
    if (at >= units_.size()) return std::nullopt;
    const uint32_t begin = value_of(units_[at]);
    if (begin >= texts_.size()) return std::nullopt;
    return std::string_view(texts_).substr(begin, texts_.find('\0', begin) - begin);
  }
  return std::nullopt;
}

void PrecompiledNormalizer::apply(AlignedText& aligned, Regex::Scratch&) const {
  const std::string_view text = aligned.text();
  AlignedText::Change change(aligned);
  const auto one = [&](std::size_t begin, std::size_t end) {
    const auto found = replacement(text.substr(begin, end - begin));
    if (found) change.put(*found, end);
    return found.has_value();
  };
  unicode::Clusters clusters(text);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = clusters.end_of(at);
    if (end - at > kLongestCluster || !one(at, end))
      for (std::size_t i = at; i < end;) {
        const std::size_t next = i + unicode::first(text.substr(i)).size;
        if (!one(i, next)) change.keep(i, next);
        i = next;
      }
    at = end;
  }
  aligned.assign(std::move(change));
}

}  // namespace longspan
