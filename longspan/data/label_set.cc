#include "longspan/data/label_set.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "longspan/base/check.h"
#include "longspan/base/fields.h"

namespace longspan {

namespace {

/// Labels that are named in a message.
constexpr std::size_t kFew = 12;

struct Key {
  bool word;           ///< not a whole number as it is usually written
  bool positive;       ///< of numbers
  std::string digits;  ///< of numbers, without the sign
};

Key key_of(const std::string& name) {
  std::string digits = name.starts_with('-') ? name.substr(1) : name;
  const bool number = !digits.empty() &&
                      std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; }) &&
                      (digits.size() == 1 || digits.front() != '0') && name != "-0";
  return {!number, !name.starts_with('-'), std::move(digits)};
}

bool before(const std::string& a, const std::string& b) {
  const Key x = key_of(a), y = key_of(b);
  if (x.word || y.word) return x.word == y.word ? a < b : y.word;
  if (x.positive != y.positive) return y.positive;
  const auto larger = std::tuple(x.digits.size(), std::string_view(x.digits)) <=>
                      std::tuple(y.digits.size(), std::string_view(y.digits));
  return x.positive ? larger < 0 : larger > 0;
}

}  // namespace

LabelSet::LabelSet(std::vector<std::string> names) : names_(std::move(names)) {
  std::sort(names_.begin(), names_.end(), before);
  names_.erase(std::unique(names_.begin(), names_.end()), names_.end());
}

LabelSet::LabelSet(std::span<const TextRecord> records) {
  std::set<std::string> names;
  for (const TextRecord& record : records) names.insert(record.labels.begin(), record.labels.end());
  *this = LabelSet({names.begin(), names.end()});
}

int64_t LabelSet::index(const std::string& label, const RecordPlace& place) const {
  const auto at = std::lower_bound(names_.begin(), names_.end(), label, before);
  if (at != names_.end() && *at == label) return at - names_.begin();
  std::string known;
  if (names_.size() <= kFew) {
    for (const std::string& name : names_) known += (known.empty() ? "; known: " : ", ") + name;
  } else if (const std::string near = nearest_name(label, names_); !near.empty()) {
    known = "; did you mean '" + near + "'?";
  }
  throw InputError(str_cat(place.text(), ": unknown label '", label, "'", known));
}

}  // namespace longspan
