// WordPiece: the longest token that a word begins with, then the longest that goes on (Devlin et al., 2019).
#pragma once

#include <string>

#include "longspan/text/subword/subword_model.h"

namespace longspan {

struct WordPieceOptions {
  std::string unknown = "[UNK]";         ///< token of a word that has no tokens
  std::string continuing_prefix = "##";  ///< of every token but the first of a word
  std::size_t max_characters = 100;      ///< a longer word is unknown
};

class WordPieceModel final : public SubwordModel {
 public:
  /// Throws InputError "<owner>: ..." when the unknown token is none.
  WordPieceModel(Vocabulary vocabulary, WordPieceOptions options, std::string_view owner);

  std::string_view kind() const override { return "wordpiece"; }
  void encode(std::string_view word, std::vector<WordToken>& out) const override;

 private:
  WordPieceOptions options_;
  uint32_t unknown_ = 0;
  std::size_t longest_ = 0;  ///< bytes of a token
};

}  // namespace longspan
