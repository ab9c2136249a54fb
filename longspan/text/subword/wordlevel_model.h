// WordLevel: a word is a token or unknown.
#pragma once

#include <optional>
#include <string>

#include "longspan/text/subword/subword_model.h"

namespace longspan {

class WordLevelModel final : public SubwordModel {
 public:
  /// `unknown`: the token of a word that is none; it need not be in the vocabulary.
  WordLevelModel(Vocabulary vocabulary, std::string unknown);

  std::string_view kind() const override { return "wordlevel"; }
  /// Throws InputError for a word that is no token, where the unknown token is none either.
  void encode(std::string_view word, std::vector<WordToken>& out) const override;

 private:
  std::string unknown_name_;
  std::optional<uint32_t> unknown_;
};

}  // namespace longspan
