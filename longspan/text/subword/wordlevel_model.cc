#include "longspan/text/subword/wordlevel_model.h"

#include <utility>

#include "longspan/base/check.h"
#include "longspan/base/in_quotes.h"

namespace longspan {

WordLevelModel::WordLevelModel(Vocabulary vocabulary, std::string unknown) : unknown_name_(std::move(unknown)) {
  vocabulary_ = std::move(vocabulary);
  unknown_ = vocabulary_.find(unknown_name_);
}

void WordLevelModel::encode(std::string_view word, std::vector<WordToken>& out) const {
  std::optional<uint32_t> id = vocabulary_.find(word);
  if (!id) id = unknown_;
  LONGSPAN_CHECK(id, "tokenizer wordlevel: ", in_quotes(word), " is not in the vocabulary, and neither is unk_token ",
                 in_quotes(unknown_name_));
  out.push_back({*id, static_cast<uint32_t>(word.size())});
}

}  // namespace longspan
