// Drawn text on its way to a person.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "longspan/text/stop_strings.h"
#include "longspan/text/utf8.h"

namespace longspan::tool {

/// Gives out a text at whole UTF-8 characters, up to a stop string and without any part of it.
class ShownText {
 public:
  explicit ShownText(std::vector<std::string> stops) : stops_(std::move(stops)) {}

  /// Adds what was drawn; returns what may be shown now.
  std::string push(std::string_view text) {
    character_ += stops_.push(text);
    const std::size_t whole = stops_.stopped() ? character_.size() : whole_characters(character_);
    std::string out = character_.substr(0, whole);
    character_.erase(0, whole);
    return out;
  }
  /// What is kept back. push() of it into a new object restores it, whatever the stop strings there.
  std::string held() const { return character_ + stops_.held(); }
  /// Gives that out: the text is over.
  std::string release() { return std::exchange(character_, "") + stops_.release(); }

  bool stopped() const { return stops_.stopped(); }
  /// The stop string that ended the text.
  const std::string& stop() const { return stops_.matched(); }

 private:
  StopStrings stops_;
  std::string character_;  ///< the beginning of one
};

}  // namespace longspan::tool
