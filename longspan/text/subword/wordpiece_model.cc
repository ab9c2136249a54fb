#include "longspan/text/subword/wordpiece_model.h"

#include <algorithm>
#include <utility>

#include "longspan/base/check.h"
#include "longspan/base/in_quotes.h"
#include "longspan/base/utf8_character.h"

namespace longspan {

WordPieceModel::WordPieceModel(Vocabulary vocabulary, WordPieceOptions options, std::string_view owner)
    : options_(std::move(options)) {
  vocabulary_ = std::move(vocabulary);
  const auto unknown = vocabulary_.find(options_.unknown);
  LONGSPAN_CHECK(unknown, owner, ": unk_token ", in_quotes(options_.unknown), " is not in the vocabulary");
  unknown_ = *unknown;
  for (uint32_t id = 0; id < vocabulary_.size(); ++id)
    if (const std::string* name = vocabulary_.name(id)) longest_ = std::max(longest_, name->size());
}

void WordPieceModel::encode(std::string_view word, std::vector<WordToken>& out) const {
  const std::size_t before = out.size();
  const auto unknown = [&] {
    out.resize(before);
    out.push_back({unknown_, static_cast<uint32_t>(word.size())});
  };
  const auto characters = static_cast<std::size_t>(
      std::count_if(word.begin(), word.end(), [](char byte) { return !continues_character(byte); }));
  if (characters > options_.max_characters) return unknown();
  std::string candidate;
  for (std::size_t at = 0; at < word.size();) {
    const std::size_t prefix = at > 0 ? options_.continuing_prefix.size() : 0;
    candidate.clear();
    if (at > 0) candidate += options_.continuing_prefix;
    std::size_t end = std::min(word.size(), at + longest_);
    candidate += word.substr(at, end - at);
    std::optional<uint32_t> id;
    for (; end > at; --end, candidate.pop_back()) {
      if (end < word.size() && continues_character(word[end])) continue;
      if ((id = vocabulary_.find(candidate))) break;
    }
    if (!id) return unknown();
    out.push_back({*id, static_cast<uint32_t>(at + candidate.size() - prefix)});
    at = end;
  }
}

}  // namespace longspan
