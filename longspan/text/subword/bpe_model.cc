#include "longspan/text/subword/bpe_model.h"

#include <algorithm>

#include "longspan/base/check.h"
#include "longspan/base/in_quotes.h"
#include "longspan/base/utf8_character.h"
#include "longspan/text/subword/bpe_merge.h"
#include "longspan/text/subword/byte_alphabet.h"

namespace longspan {

BpeModel::BpeModel(Vocabulary vocabulary, BpeOptions options, std::string_view owner) : options_(std::move(options)) {
  vocabulary_ = std::move(vocabulary);
  LONGSPAN_CHECK(!options_.bytes || !options_.byte_fallback, owner,
                 ": byte_fallback has no use where every byte is a character");
  if (options_.bytes) texts_.resize(vocabulary_.size());
  for (uint32_t id = 0; id < vocabulary_.size(); ++id) {
    const std::string* name = vocabulary_.name(id);
    if (!name || vocabulary_.find(*name) != id) continue;  // a hole, or a name that a later number took
    const auto bytes = options_.bytes ? from_byte_alphabet(*name) : std::nullopt;
    // A name outside the alphabet can be an added token alone: no word has it.
    if (options_.bytes) texts_[id] = bytes.value_or(*name);
    if (!options_.bytes || bytes) words_.insert_or_assign(options_.bytes ? *bytes : *name, id);
  }
  for (unsigned byte = 0; byte < 256; ++byte) {
    const auto found = options_.bytes ? words_.find(std::string(1, static_cast<char>(byte)))
                                      : words_.find(byte_token_name(static_cast<unsigned char>(byte)));
    if (found != words_.end()) byte_tokens_[byte] = found->second;
  }
  if (!options_.unknown) return;
  unknown_ = vocabulary_.find(*options_.unknown);
  LONGSPAN_CHECK(unknown_, owner, ": unk_token ", in_quotes(*options_.unknown), " is not in the vocabulary");
}

BpeModel::BpeModel(Vocabulary vocabulary, const std::vector<std::pair<std::string, std::string>>& merges,
                   BpeOptions options, std::string_view owner)
    : BpeModel(std::move(vocabulary), std::move(options), owner) {
  merges_ = MergeTable(merges.size());
  const std::size_t prefix = options_.continuing_prefix.size();
  std::string joined;
  for (std::size_t i = 0; i < merges.size(); ++i) {
    const auto& left = merges[i].first;
    const auto& right = merges[i].second;
    const auto left_id = vocabulary_.find(left), right_id = vocabulary_.find(right);
    LONGSPAN_CHECK(left_id && right_id, owner, ": merge ", i, " is of ", in_quotes(left_id ? right : left),
                   ", which is not in the vocabulary");
    joined = left;
    joined += std::string_view(right).substr(std::min(prefix, right.size()));
    const auto id = vocabulary_.find(joined);
    LONGSPAN_CHECK(id, owner, ": merge ", i, " makes ", in_quotes(joined), ", which is not in the vocabulary");
    merges_.set(*left_id, *right_id, {static_cast<uint32_t>(i), *id});
  }
}

BpeModel BpeModel::of_ranks(Vocabulary vocabulary, std::string_view owner) {
  BpeOptions options;
  options.bytes = options.ignore_merges = true;
  BpeModel model(std::move(vocabulary), std::move(options), owner);
  for (unsigned byte = 0; byte < 256; ++byte)
    LONGSPAN_CHECK(model.byte_tokens_[byte], owner, ": the byte ", byte, " has no rank");
  struct Found {
    uint32_t left, right, id;
  };
  std::vector<Found> pairs;
  for (const auto& [text, id] : model.words_)
    for (std::size_t cut = 1; cut < text.size(); ++cut) {
      const auto left = model.words_.find(std::string_view(text).substr(0, cut));
      if (left == model.words_.end()) continue;
      const auto right = model.words_.find(std::string_view(text).substr(cut));
      if (right != model.words_.end()) pairs.push_back({left->second, right->second, id});
    }
  model.merges_ = MergeTable(pairs.size());
  for (const Found& pair : pairs) model.merges_.set(pair.left, pair.right, {pair.id, pair.id});
  return model;
}

bool BpeModel::add_bytes(std::string_view symbol, uint32_t end, std::vector<WordToken>& out) const {
  for (const char byte : symbol)
    if (!byte_tokens_[static_cast<unsigned char>(byte)]) return false;
  const std::size_t before = out.size();
  for (const char byte : symbol) out.push_back({*byte_tokens_[static_cast<unsigned char>(byte)], end});
  // The bytes of the character, one by one where the symbol is nothing more.
  const uint32_t start = before > 0 ? out[before - 1].end : 0;
  for (std::size_t i = before; i < out.size(); ++i)
    out[i].end = std::min(end, start + static_cast<uint32_t>(i - before) + 1);
  out.back().end = end;
  return true;
}

void BpeModel::symbols_of(std::string_view word, std::vector<WordToken>& out) const {
  const bool plain = options_.continuing_prefix.empty() && options_.end_suffix.empty();
  // The end of symbols that are not known and wait for another one, so that they become one token; 0: none.
  uint32_t pending = 0;
  const auto flush = [&] {
    if (pending > 0) out.push_back({*unknown_, pending});
    pending = 0;
  };
  std::string decorated;
  for (std::size_t at = 0; at < word.size();) {
    const std::size_t size = options_.bytes ? 1 : std::max<std::size_t>(1, utf8_character(word.substr(at)));
    std::string_view symbol = word.substr(at, size);
    const auto end = static_cast<uint32_t>(at + size);
    std::optional<uint32_t> id;
    if (options_.bytes && plain) {
      id = byte_tokens_[static_cast<unsigned char>(symbol[0])];
    } else {
      if (!plain) {
        decorated.clear();
        if (at > 0) decorated += options_.continuing_prefix;
        decorated += symbol;
        if (at + size == word.size()) decorated += options_.end_suffix;
        symbol = decorated;
      }
      if (const auto found = words_.find(symbol); found != words_.end()) id = found->second;
    }
    at += size;
    if (id) {
      flush();
      out.push_back({*id, end});
    } else if (options_.byte_fallback && add_bytes(symbol, end, out)) {
      // What is pending stays behind the bytes, as in the original.
    } else if (unknown_) {
      if (!options_.fuse_unknown) flush();
      pending = end;
    }
  }
  flush();
}

void BpeModel::encode(std::string_view word, std::vector<WordToken>& out) const {
  if (options_.ignore_merges)
    if (const auto found = words_.find(word); found != words_.end()) {
      out.push_back({found->second, static_cast<uint32_t>(word.size())});
      return;
    }
  thread_local std::vector<WordToken> symbols;
  symbols.clear();
  symbols_of(word, symbols);
  merge_symbols(merges_, symbols);
  out.insert(out.end(), symbols.begin(), symbols.end());
  if (symbols.capacity() > (std::size_t{1} << 16)) symbols = {};
}

bool BpeModel::never_joins(std::string_view mark) const {
  if (!options_.continuing_prefix.empty() || !options_.end_suffix.empty() || options_.fuse_unknown ||
      options_.ignore_merges)
    return false;
  for (uint32_t id = 0; id < vocabulary_.size(); ++id)
    if (vocabulary_.name(id) && joins(text(id), mark)) return false;
  return true;
}

}  // namespace longspan
