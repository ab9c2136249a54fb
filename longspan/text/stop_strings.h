// Ending a text where one of some strings appears.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace longspan {

/// Watches a growing text, which may come in parts of any size, for the first of several strings. What is given out
/// never contains a stop string nor a part of one that is completed later. The result does not depend on the parts.
class StopStrings {
 public:
  /// None at all lets everything pass. InputError for an empty string.
  explicit StopStrings(std::vector<std::string> strings = {});

  /// Adds `text` and returns what may be shown now. The string whose last byte comes first ends the text, of several
  /// that end there the longest; what follows it is dropped.
  std::string push(std::string_view text);

  bool stopped() const { return !matched_.empty(); }
  /// The stop string that ended the text; empty before.
  const std::string& matched() const { return matched_; }
  /// What is kept back because a stop string may begin with it.
  const std::string& held() const { return held_; }
  /// Gives that out: the text is over.
  std::string release();

 private:
  std::vector<std::string> strings_;
  std::string held_, matched_;
};

}  // namespace longspan
