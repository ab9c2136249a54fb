// The labels of a task and their numbers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "longspan/data/records.h"

namespace longspan {

/// Labels in order; the place of each is its class. Whole numbers come first, by value, so that the labels 0 to n - 1
/// are their own classes; then all others by their bytes.
class LabelSet {
 public:
  LabelSet() = default;
  /// The labels in any order; each once, whatever stands twice.
  explicit LabelSet(std::vector<std::string> names);
  /// Every label of the records.
  explicit LabelSet(std::span<const TextRecord> records);

  int64_t size() const { return static_cast<int64_t>(names_.size()); }
  const std::vector<std::string>& names() const { return names_; }
  /// The class of a label that a record has. Throws InputError "<file>:<line>: unknown label ..." with the nearest
  /// known one, or with all where they are few.
  int64_t index(const std::string& label, const RecordPlace& place) const;

 private:
  std::vector<std::string> names_;
};

}  // namespace longspan
