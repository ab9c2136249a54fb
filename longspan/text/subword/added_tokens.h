// Tokens that are found in a text before anything else is done with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "longspan/text/subword/aligned_text.h"
#include "longspan/text/subword/prefix_tree.h"

namespace longspan {

struct AddedToken {
  uint32_t id = 0;
  std::string content = {};
  bool single_word = false;  ///< not within a word
  bool lstrip = false;       ///< with the white space before it
  bool rstrip = false;       ///< with that behind it
  bool normalized = false;   ///< looked for in the normalised text, in its own normal form
  bool special = false;      ///< stands for no text: a border, a mask
};

/// Finds added tokens in one text: from the left, of several that begin at a place the longest. One that single_word
/// rules out takes its bytes with it, as in the original.
class AddedTokenFinder {
 public:
  /// `texts`: what to look for, by token.
  AddedTokenFinder(const std::vector<AddedToken>& tokens, const std::vector<std::string>& texts);

  bool empty() const { return tokens_.empty(); }
  struct Found {
    std::size_t begin, end;
    uint32_t id;
  };
  /// The first that begins at or after `from`, with the white space that it takes, but none before `done`; false when
  /// there is none. `from` becomes where to go on: behind its own bytes, so that a token of white space is found again
  /// in what rstrip took, as in the original.
  bool find(std::string_view text, std::size_t done, std::size_t& from, Found& found) const;
  /// Where a cut can neither fall into a token nor change what it takes.
  CutPlaces cuts() const { return cuts_; }

 private:
  std::vector<AddedToken> tokens_;
  PrefixTree tree_;
  CutPlaces cuts_ = kCutAnywhere;
};

}  // namespace longspan
