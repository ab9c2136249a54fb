// All texts of a set that a text begins with.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace longspan {

/// A tree over bytes. Children of a node are a list, which is short but at the root, where a table stands for it.
class PrefixTree {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  PrefixTree() : nodes_(1) { first_.fill(kNone); }

  /// Of a text that is added twice the later value is found. Empty texts are never found.
  void add(std::string_view text, uint32_t value) {
    uint32_t at = 0;
    for (const char byte : text) {
      uint32_t next = child(at, static_cast<unsigned char>(byte));
      if (next == kNone) {
        next = static_cast<uint32_t>(nodes_.size());
        if (at == 0) first_[static_cast<unsigned char>(byte)] = next;
        nodes_.push_back({kNone, kNone, at == 0 ? kNone : nodes_[at].child, static_cast<unsigned char>(byte)});
        nodes_[at].child = next;
      }
      at = next;
    }
    if (!text.empty()) nodes_[at].value = value;
  }

  /// Calls use(size, value) for each text of the set that `text` begins with, the shortest first.
  template <class Use>
  void prefixes(std::string_view text, Use&& use) const {
    uint32_t at = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      at = child(at, static_cast<unsigned char>(text[i]));
      if (at == kNone) return;
      if (nodes_[at].value != kNone) use(i + 1, nodes_[at].value);
    }
  }

  /// Whether a text of the set begins with `byte`.
  bool begins(unsigned char byte) const { return first_[byte] != kNone; }

 private:
  struct Node {
    uint32_t value = kNone;
    uint32_t child = kNone, sibling = kNone;
    unsigned char byte = 0;
  };
  uint32_t child(uint32_t at, unsigned char byte) const {
    if (at == 0) return first_[byte];
    for (uint32_t next = nodes_[at].child; next != kNone; next = nodes_[next].sibling)
      if (nodes_[next].byte == byte) return next;
    return kNone;
  }
  std::vector<Node> nodes_;
  std::array<uint32_t, 256> first_;  ///< children of the root
};

}  // namespace longspan
