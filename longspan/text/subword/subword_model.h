// What cuts a word into tokens: the one interface of BPE, WordPiece, Unigram and WordLevel.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "longspan/text/subword/vocabulary.h"

namespace longspan {

/// A token and where it ends in its word, in bytes.
struct WordToken {
  uint32_t id;
  uint32_t end;
};

/// Immutable, safe for several threads.
class SubwordModel {
 public:
  virtual ~SubwordModel() = default;

  /// "bpe", "wordpiece", "unigram", "wordlevel".
  virtual std::string_view kind() const = 0;
  /// Tokens as the file names them.
  const Vocabulary& vocabulary() const { return vocabulary_; }
  /// Whether words are bytes, whatever they are, instead of UTF-8.
  virtual bool reads_bytes() const { return false; }
  /// Appends the tokens of a word that is not empty.
  virtual void encode(std::string_view word, std::vector<WordToken>& out) const = 0;
  /// What a token is: its bytes where the model reads_bytes(), else its name.
  virtual const std::string& text(uint32_t id) const { return *vocabulary_.name(id); }
  /// True where no token joins a character other than `mark` with a `mark` behind it: a word may be cut there.
  virtual bool never_joins(std::string_view mark) const { return false; }

 protected:
  Vocabulary vocabulary_;
};

/// Whether a name has a `mark` behind something else.
inline bool joins(std::string_view name, std::string_view mark) {
  for (std::size_t at = name.find(mark); at != std::string_view::npos; at = name.find(mark, at + mark.size()))
    if (at > 0 && !(at >= mark.size() && name.substr(at - mark.size(), mark.size()) == mark)) return true;
  return false;
}

}  // namespace longspan
