#include "longspan/text/subword/subword_tokenizer.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "longspan/base/check.h"
#include "longspan/base/utf8_character.h"
#include "longspan/io/fingerprint.h"
#include "longspan/text/decoder.h"
#include "longspan/text/pieces.h"
#include "longspan/text/subword/steps_cuts.h"
#include "longspan/text/subword/text_cuts.h"
#include "longspan/text/subword/word_cache.h"
#include "longspan/text/utf8.h"

namespace longspan {

struct SubwordTokenizer::Work {
  Regex::Scratch scratch;
  WordCache cache;
  std::vector<TextSpan> spans;
  std::vector<WordToken> tokens;
  // What comes out, for the call at hand.
  bool aligned = false;
  std::vector<uint32_t>* out = nullptr;
  std::vector<std::size_t> ends;  ///< in the source
  const AlignedText* text = nullptr;
  std::size_t word_begin = 0;
};

/// Work that no call uses. A call takes one that another left, with the words that it knows.
class SubwordTokenizer::Pool {
 public:
  std::unique_ptr<Work> take() {
    std::lock_guard lock(mutex_);
    if (free_.empty()) return std::make_unique<Work>();
    auto out = std::move(free_.back());
    free_.pop_back();
    return out;
  }
  void give(std::unique_ptr<Work> work) {
    std::lock_guard lock(mutex_);
    free_.push_back(std::move(work));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Work>> free_;
};

class SubwordTokenizer::Borrowed {
 public:
  explicit Borrowed(Pool& pool) : pool_(pool), work_(pool.take()) {}
  ~Borrowed() { pool_.give(std::move(work_)); }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;
  Work& operator*() const { return *work_; }

 private:
  Pool& pool_;
  std::unique_ptr<Work> work_;
};

namespace {

std::vector<AddedToken> chosen(const std::vector<AddedToken>& all, bool normalized) {
  std::vector<AddedToken> out;
  for (const AddedToken& token : all)
    if (token.normalized == normalized) out.push_back(token);
  return out;
}

std::vector<std::string> contents(const std::vector<AddedToken>& tokens, const NormalizerList& normalizers) {
  Regex::Scratch scratch;
  std::vector<std::string> out;
  for (const AddedToken& token : tokens) {
    AlignedText text(token.content, 0);
    if (token.normalized)
      for (const auto& step : normalizers) step->apply(text, scratch);
    out.emplace_back(text.text());
  }
  return out;
}

std::string fingerprint_of(std::string_view text) {
  Fingerprint out;
  out.add(text);
  return out.hex();
}

}  // namespace

SubwordTokenizer::SubwordTokenizer(SubwordParts parts, std::string_view origin)
    : parts_(std::move(parts)),
      origin_(origin),
      raw_(chosen(parts_.added, false), contents(chosen(parts_.added, false), parts_.normalizers)),
      normalized_(chosen(parts_.added, true), contents(chosen(parts_.added, true), parts_.normalizers)),
      cuts_(cuts_of(parts_, raw_, normalized_)),
      fingerprint_(fingerprint_of(parts_.file)),
      pool_(std::make_unique<Pool>()) {
  uint32_t size = parts_.model->vocabulary().size();
  for (const AddedToken& token : parts_.added) {
    LONGSPAN_CHECK(token.id < Vocabulary::kMost, origin, ": the number of an added token must be below ",
                   Vocabulary::kMost, ", got ", token.id);
    size = std::max(size, token.id + 1);
  }
  LONGSPAN_CHECK(size > 0, origin, ": the vocabulary is empty");
  for (const auto* parts : {&parts_.special.single, &parts_.special.pair})
    for (const TemplatePart& part : *parts)
      for (const uint32_t id : part.ids)
        LONGSPAN_CHECK(id < size, origin, ": post_processor: the number of a special token must be below ", size,
                       ", got ", id);
  texts_.resize(size);
  added_.resize(size);
  for (uint32_t id = 0; id < parts_.model->vocabulary().size(); ++id)
    if (parts_.model->vocabulary().name(id)) texts_[id] = &parts_.model->text(id);
  for (const AddedToken& token : parts_.added) {
    texts_[token.id] = &token.content;
    added_[token.id] = token.special ? 2 : 1;
  }
}

SubwordTokenizer::~SubwordTokenizer() = default;

void SubwordTokenizer::encode_word(std::string_view word, Work& work) const {
  std::span<const WordToken> tokens;
  if (word.size() <= WordCache::kLongestWord) {
    const uint64_t hash = WordCache::hash(word);
    tokens = work.cache.find(word, hash);
    if (!tokens.data()) {
      work.tokens.clear();
      parts_.model->encode(word, work.tokens);
      tokens = work.tokens;
      if (!tokens.empty()) work.cache.add(word, hash, tokens);
    }
  } else {
    work.tokens.clear();
    parts_.model->encode(word, work.tokens);
    tokens = work.tokens;
  }
  for (const WordToken& token : tokens) work.out->push_back(token.id);
  if (work.aligned)
    for (const WordToken& token : tokens) work.ends.push_back(work.text->source_end(work.word_begin + token.end));
}

void SubwordTokenizer::encode_words(AlignedText& text, std::size_t begin, std::size_t end, Work& work) const {
  if (begin == end) return;
  work.spans.assign(1, {begin, end});
  Words words{text, work.spans};
  for (const auto& step : parts_.pre_tokenizers) step->apply(words, work.scratch);
  work.text = &text;
  for (const TextSpan& span : work.spans) {
    work.word_begin = span.begin;
    encode_word(text.text().substr(span.begin, span.end - span.begin), work);
  }
}

void SubwordTokenizer::encode_segment(std::string_view segment, std::size_t offset, Work& work) const {
  AlignedText text(segment, offset);
  for (const auto& step : parts_.normalizers) step->apply(text, work.scratch);
  AddedTokenFinder::Found found;
  std::size_t at = 0, from = 0;
  if (normalized_.empty() || !normalized_.find(text.text(), at, from, found))
    return encode_words(text, 0, text.text().size(), work);
  do {
    if (at < found.begin) {
      AlignedText part(text, at, found.begin);
      encode_words(part, 0, part.text().size(), work);
    }
    work.out->push_back(found.id);
    if (work.aligned) work.ends.push_back(text.source_end(found.end));
    at = found.end;
  } while (normalized_.find(text.text(), at, from, found));
  if (at == text.text().size()) return;
  AlignedText part(text, at, text.text().size());
  encode_words(part, 0, part.text().size(), work);
}

void SubwordTokenizer::encode_into(std::string_view all, bool aligned, Encoding& out) const {
  const Borrowed borrowed(*pool_);
  Work& work = *borrowed;
  work.aligned = aligned;
  work.out = &out.tokens;
  work.ends.clear();
  out.tokens.reserve(all.size() / 4);
  /// A part of the text that is UTF-8.
  const auto encode_valid = [&](std::string_view text, std::size_t offset) {
    AddedTokenFinder::Found found;
    std::size_t at = 0, from = 0;
    while (!raw_.empty() && raw_.find(text, at, from, found)) {
      if (at < found.begin) encode_segment(text.substr(at, found.begin - at), offset + at, work);
      out.tokens.push_back(found.id);
      if (aligned) work.ends.push_back(offset + found.end);
      at = found.end;
    }
    if (at < text.size()) encode_segment(text.substr(at), offset + at, work);
  };
  for (std::size_t begin = 0; begin < all.size();) {
    const std::string_view piece = all.substr(begin, piece_end(all.substr(begin), true));
    for (std::size_t at = 0; at < piece.size();) {
      const std::size_t valid = std::min(invalid_utf8(piece.substr(at)), piece.size() - at);
      if (valid > 0) encode_valid(piece.substr(at, valid), begin + at);
      at += valid;
      if (at == piece.size()) break;
      LONGSPAN_CHECK(reads_any_bytes(), "tokenizer ", name(), ": the text is not UTF-8 at byte ", begin + at);
      std::size_t wrong = 1;  // up to the next character
      while (at + wrong < piece.size() && utf8_character(piece.substr(at + wrong)) == 0) ++wrong;
      const AlignedText text(piece.substr(at, wrong), begin + at);
      work.text = &text;
      work.word_begin = 0;
      encode_word(text.text(), work);
      at += wrong;
    }
    begin += piece.size();
  }
  if (!aligned || out.tokens.empty()) return;
  // Every byte belongs to the first token that does not end before it; a token never ends before the one ahead of it.
  out.source_bytes.reserve(out.tokens.size());
  std::size_t end = 0;
  for (const std::size_t own : work.ends) {
    out.source_bytes.push_back(own > end ? static_cast<uint32_t>(own - end) : 0);
    end = std::max(end, own);
  }
  out.source_bytes.back() += static_cast<uint32_t>(all.size() - end);
}

std::vector<uint32_t> SubwordTokenizer::encode(std::string_view text) const {
  Encoding out;
  encode_into(text, false, out);
  return std::move(out.tokens);
}

Encoding SubwordTokenizer::encode_aligned(std::string_view text) const {
  Encoding out;
  encode_into(text, true, out);
  return out;
}

std::string SubwordTokenizer::decode(std::span<const uint32_t> tokens) const {
  std::string text;
  bool start = true;
  for (const uint32_t token : tokens) {
    const std::string more = token_text(token, start);
    // As TokenDecoder: a token that has no text anywhere begins nothing.
    start = start && more.empty() && token_text(token, false).empty();
    text += more;
  }
  return text;
}

std::string SubwordTokenizer::token_text(uint32_t token, bool start) const {
  LONGSPAN_CHECK(token < texts_.size(), "tokenizer ", name(), ": token must be below ", texts_.size(), ", got ", token);
  if (!texts_[token]) return "";
  std::string text = *texts_[token];
  if (!parts_.model->reads_bytes())
    for (const auto& step : parts_.decoder) step->apply(text, start);
  return text;
}

std::size_t SubwordTokenizer::piece_end(std::string_view text, bool last) const { return cut_text(text, last, cuts_); }

FieldValues SubwordTokenizer::description() const {
  return {{"tokenizer", name()}, {"vocabulary", vocabulary_size()}, {"fingerprint", fingerprint_}};
}

SpecialEncoding SubwordTokenizer::encode_special(std::string_view text, std::optional<std::string_view> second) const {
  SpecialEncoding out;
  const auto add = [&](const std::vector<uint32_t>& ids, uint32_t type) {
    out.tokens.insert(out.tokens.end(), ids.begin(), ids.end());
    out.types.insert(out.types.end(), ids.size(), type);
  };
  for (const TemplatePart& part : second ? parts_.special.pair : parts_.special.single) {
    if (part.what == TemplatePart::What::special)
      add(part.ids, part.type);
    else
      add(encode(part.what == TemplatePart::What::first ? text : second.value_or("")), part.type);
  }
  return out;
}

std::optional<uint32_t> SubwordTokenizer::find(std::string_view name) const {
  for (const AddedToken& token : parts_.added)
    if (token.content == name) return token.id;
  return parts_.model->vocabulary().find(name);
}

const std::string& SubwordTokenizer::token_name(uint32_t token) const {
  static const std::string none;
  LONGSPAN_CHECK(token < texts_.size(), "tokenizer ", name(), ": token must be below ", texts_.size(), ", got ", token);
  if (added_[token]) return *texts_[token];
  const std::string* name = parts_.model->vocabulary().name(token);
  return name ? *name : none;
}

bool SubwordTokenizer::is_special(uint32_t token) const { return token < added_.size() && added_[token] == 2; }

}  // namespace longspan
