// Unigram: the most probable tokens of a word (Kudo, 2018).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "longspan/text/subword/prefix_tree.h"
#include "longspan/text/subword/subword_model.h"

namespace longspan {

struct UnigramOptions {
  std::optional<uint32_t> unknown = {};  ///< number of the token of what no other covers; none: that is an error
  bool byte_fallback = false;            ///< tokens "<0x0A>" instead, if all of the bytes are there
};

class UnigramModel final : public SubwordModel {
 public:
  /// Tokens with their log-probabilities; their places are their numbers. Throws InputError "<owner>: ..." for no token
  /// at all, an unknown token out of range, and a score that is not finite.
  UnigramModel(const std::vector<std::pair<std::string, double>>& tokens, UnigramOptions options,
               std::string_view owner);

  std::string_view kind() const override { return "unigram"; }
  /// Throws InputError for a character that no token has, where there is no unknown token either.
  void encode(std::string_view word, std::vector<WordToken>& out) const override;

 private:
  void add(std::string_view part, uint32_t end, bool unknown, std::vector<WordToken>& out) const;

  UnigramOptions options_;
  PrefixTree tree_;
  std::vector<double> scores_;
  double unknown_score_ = 0;
};

}  // namespace longspan
