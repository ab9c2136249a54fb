#include "longspan/text/subword/unigram_model.h"

#include <algorithm>
#include <cmath>

#include "longspan/base/check.h"
#include "longspan/base/in_quotes.h"
#include "longspan/base/utf8_character.h"
#include "longspan/text/subword/byte_alphabet.h"

namespace longspan {

namespace {

/// Below the least probable token, as SentencePiece has it.
constexpr double kUnknownPenalty = 10.0;

/// The best way to the end of a character.
struct Step {
  double score = 0;
  uint32_t id = 0;
  uint32_t begin = PrefixTree::kNone;  ///< kNone: none leads here
};

}  // namespace

UnigramModel::UnigramModel(const std::vector<std::pair<std::string, double>>& tokens, UnigramOptions options,
                           std::string_view owner)
    : options_(options) {
  LONGSPAN_CHECK(!tokens.empty(), owner, ": the vocabulary is empty");
  LONGSPAN_CHECK(!options_.unknown || *options_.unknown < tokens.size(), owner, ": unk_id must be below ",
                 tokens.size(), ", got ", *options_.unknown);
  double least = tokens[0].second;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    LONGSPAN_CHECK(std::isfinite(tokens[i].second), owner, ": the score of ", in_quotes(tokens[i].first),
                   " is not finite");
    vocabulary_.add(tokens[i].first, static_cast<uint32_t>(i), owner);
    tree_.add(tokens[i].first, static_cast<uint32_t>(i));
    scores_.push_back(tokens[i].second);
    least = std::min(least, tokens[i].second);
  }
  unknown_score_ = least - kUnknownPenalty;
}

void UnigramModel::add(std::string_view part, uint32_t end, bool unknown, std::vector<WordToken>& out) const {
  if (!unknown) {
    out.push_back({*vocabulary_.find(part), end});
    return;
  }
  // Unknown characters in a row may be a token together: the token "<unk>" written out is one.
  if (const auto id = vocabulary_.find(part)) {
    out.push_back({*id, end});
    return;
  }
  if (options_.byte_fallback) {
    std::vector<uint32_t> bytes;
    for (const char byte : part)
      if (const auto id = vocabulary_.find(byte_token_name(static_cast<unsigned char>(byte)))) bytes.push_back(*id);
    if (bytes.size() == part.size()) {
      for (std::size_t i = 0; i < bytes.size(); ++i)
        out.push_back({bytes[i], end - static_cast<uint32_t>(part.size() - 1 - i)});
      return;
    }
  }
  out.push_back({*options_.unknown, end});
}

void UnigramModel::encode(std::string_view word, std::vector<WordToken>& out) const {
  std::vector<Step> best(word.size() + 1);
  for (std::size_t at = 0; at < word.size();) {
    const double here = best[at].score;
    const std::size_t character = std::max<std::size_t>(1, utf8_character(word.substr(at)));
    bool covered = false;  // the character by itself is a token
    const auto offer = [&](std::size_t size, uint32_t id, double score) {
      Step& step = best[at + size];
      if (step.begin == PrefixTree::kNone || score > step.score) step = {score, id, static_cast<uint32_t>(at)};
    };
    tree_.prefixes(word.substr(at), [&](std::size_t size, uint32_t id) {
      offer(size, id, scores_[id] + here);
      covered = covered || size == character;
    });
    if (!covered) {
      LONGSPAN_CHECK(options_.unknown, "tokenizer unigram: no token covers ", in_quotes(word.substr(at, character)),
                     ", and there is no unknown token");
      offer(character, *options_.unknown, unknown_score_ + here);
    }
    at += character;
  }
  struct Part {
    std::size_t begin, end;
    bool unknown;
  };
  std::vector<Part> parts;  // from the end; unknown ones in a row are one
  for (std::size_t end = word.size(); end > 0; end = best[end].begin) {
    const bool unknown = options_.unknown && best[end].id == *options_.unknown;
    if (unknown && !parts.empty() && parts.back().unknown)
      parts.back().begin = best[end].begin;
    else
      parts.push_back({best[end].begin, end, unknown});
  }
  for (auto part = parts.rbegin(); part != parts.rend(); ++part)
    add(word.substr(part->begin, part->end - part->begin), static_cast<uint32_t>(part->end), part->unknown, out);
}

}  // namespace longspan
