// The tokens of a model by name and by number.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace longspan {

/// A table from text to numbers that is searched by string_view.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};
template <class Value>
using TextMap = std::unordered_map<std::string, Value, TextHash, std::equal_to<>>;

/// Names and numbers; numbers may have holes.
class Vocabulary {
 public:
  /// Tokens are below this, so that a damaged file cannot ask for all memory.
  static constexpr uint32_t kMost = 1 << 22;

  /// Throws InputError "<owner>: ..." for a number that is kMost or more. Of a name that stands twice the later number
  /// is found.
  void add(std::string name, uint32_t id, std::string_view owner);

  std::optional<uint32_t> find(std::string_view name) const {
    const auto found = ids_.find(name);
    return found == ids_.end() ? std::nullopt : std::optional(found->second);
  }
  /// Nullptr for a number without a token.
  const std::string* name(uint32_t id) const { return id < names_.size() && used_[id] ? &names_[id] : nullptr; }
  /// One more than the highest number.
  uint32_t size() const { return static_cast<uint32_t>(names_.size()); }

 private:
  TextMap<uint32_t> ids_;
  std::vector<std::string> names_;
  std::vector<bool> used_;
};

}  // namespace longspan
