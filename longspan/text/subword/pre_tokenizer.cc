#include "longspan/text/subword/pre_tokenizer.h"

#include "longspan/text/subword/split_patterns.h"
#include "longspan/text/subword/unicode.h"

namespace longspan {

namespace {

/// A part of a word, and whether it matched.
struct Part {
  std::size_t begin, end;
  bool match;
};

/// The parts that become words, in their order; empty ones are taken out later.
void arrange(std::vector<Part>& parts, SplitBehavior behavior) {
  std::vector<Part> out;
  bool previous = false;
  switch (behavior) {
    case SplitBehavior::isolated:
      return;
    case SplitBehavior::removed:
      std::erase_if(parts, [](const Part& part) { return part.match; });
      return;
    case SplitBehavior::contiguous:
      for (const Part& part : parts) {
        if (!out.empty() && part.match == previous)
          out.back().end = part.end;
        else
          out.push_back(part);
        previous = part.match;
      }
      break;
    case SplitBehavior::merged_with_previous:
      for (const Part& part : parts) {
        if (part.match && !previous && !out.empty())
          out.back().end = part.end;
        else
          out.push_back(part);
        previous = part.match;
      }
      break;
    case SplitBehavior::merged_with_next:
      for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
        if (part->match && !previous && !out.empty())
          out.back().begin = part->begin;
        else
          out.push_back(*part);
        previous = part->match;
      }
      out = {out.rbegin(), out.rend()};
      break;
  }
  parts = std::move(out);
}

/// The whole text of every word moved to a text that is put together anew.
template <class Write>
void rebuild(Words& words, Write&& write) {
  AlignedText::Change change(words.text);
  for (TextSpan& span : words.spans) {
    const std::size_t begin = change.size();
    write(change, span);
    span = {begin, change.size()};
  }
  words.text.assign(std::move(change));
}

}  // namespace

void SplitPreTokenizer::apply(Words& words, Regex::Scratch& scratch) const {
  std::vector<TextSpan> out;
  std::vector<Part> parts;
  for (const TextSpan& span : words.spans) {
    const std::string_view text = words.text.text().substr(span.begin, span.end - span.begin);
    parts.clear();
    std::size_t at = 0;
    pattern_.for_each(text, scratch, [&](std::size_t begin, std::size_t end) {
      if (at != begin) parts.push_back({at, begin, invert_});
      parts.push_back({begin, end, !invert_});
      at = end;
    });
    if (at != text.size()) parts.push_back({at, text.size(), invert_});
    arrange(parts, behavior_);
    for (const Part& part : parts)
      if (part.begin < part.end) out.push_back({span.begin + part.begin, span.begin + part.end});
  }
  words.spans = std::move(out);
}

void WordPreTokenizer::apply(Words& words, Regex::Scratch& scratch) const {
  std::vector<TextSpan> out;
  for (const TextSpan& span : words.spans) {
    const std::string_view text = words.text.text().substr(span.begin, span.end - span.begin);
    out.reserve(out.size() + text.size() / 4);
    for (std::size_t at = 0; at < text.size();) {
      std::size_t begin = at, end = plain_word_end(text, at);
      if (end == 0 && (!pattern_.find(text, at, begin, end, scratch) || begin == end)) begin = end = text.size();
      if (at < begin) out.push_back({span.begin + at, span.begin + begin});  // what no match covers is a word, too
      if (begin < end) out.push_back({span.begin + begin, span.begin + end});
      at = end;
    }
  }
  words.spans = std::move(out);
}

ByteLevelPreTokenizer::ByteLevelPreTokenizer(bool add_prefix_space, bool use_regex)
    : add_prefix_space_(add_prefix_space) {
  if (use_regex) pattern_.emplace(Regex(kGpt2Pattern, RegexFlavour::oniguruma, "ByteLevel"));
}

void ByteLevelPreTokenizer::apply(Words& words, Regex::Scratch& scratch) const {
  if (add_prefix_space_) {
    bool any = false;
    for (const TextSpan& span : words.spans) any = any || words.text.text()[span.begin] != ' ';
    if (any)
      rebuild(words, [&](AlignedText::Change& change, TextSpan span) {
        if (words.text.text()[span.begin] != ' ') change.put(" ", span.begin);
        change.keep(span.begin, span.end);
      });
  }
  if (pattern_) pattern_->apply(words, scratch);
}

void ScriptsPreTokenizer::apply(Words& words, Regex::Scratch&) const {
  std::vector<TextSpan> out;
  for (const TextSpan& span : words.spans) {
    std::optional<int32_t> last;
    for (std::size_t at = span.begin; at < span.end;) {
      const auto character = unicode::first(words.text.text().substr(at, span.end - at));
      const auto own = unicode::script(character.code);
      if (own && last != own) out.push_back({at, at});
      if (own) last = own;
      at += character.size;
      if (last) out.back().end = at;
    }
  }
  words.spans = std::move(out);
}

void FixedLengthPreTokenizer::apply(Words& words, Regex::Scratch&) const {
  std::vector<TextSpan> out;
  for (const TextSpan& span : words.spans) {
    std::size_t count = 0;
    for (std::size_t at = span.begin; at < span.end; ++count) {
      if (count % length_ == 0) out.push_back({at, at});
      at += unicode::first(words.text.text().substr(at, span.end - at)).size;
      out.back().end = at;
    }
  }
  words.spans = std::move(out);
}

void MetaspacePreTokenizer::apply(Words& words, Regex::Scratch&) const {
  rebuild(words, [&](AlignedText::Change& change, TextSpan span) {
    const std::string_view text = words.text.text();
    const std::string_view word = text.substr(span.begin, span.end - span.begin);
    const bool at_start = words.text.source_end(span.begin) == 0;
    if (!word.starts_with(' ') && !word.starts_with(sign_) &&
        (prepend_ == Prepend::always || (prepend_ == Prepend::first && at_start)))
      change.put(sign_, span.begin);
    std::size_t kept = span.begin;
    for (std::size_t i = span.begin; i < span.end; ++i) {
      if (text[i] != ' ') continue;
      change.keep(kept, i);
      change.put(sign_, i + 1);
      kept = i + 1;
    }
    change.keep(kept, span.end);
  });
  if (!split_) return;
  std::vector<TextSpan> out;
  for (const TextSpan& span : words.spans) {
    const std::string_view text = words.text.text();
    std::size_t begin = span.begin;
    for (std::size_t at = text.find(sign_, begin); at != std::string_view::npos && at < span.end;
         at = text.find(sign_, at + sign_.size())) {
      if (at > begin) out.push_back({begin, at});
      begin = at;
    }
    out.push_back({begin, span.end});
  }
  words.spans = std::move(out);
}

}  // namespace longspan
