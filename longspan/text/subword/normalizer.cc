#include "longspan/text/subword/normalizer.h"

#include <algorithm>

#include "longspan/base/utf8_character.h"

namespace longspan {

namespace {

bool is_ascii(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char byte) { return static_cast<unsigned char>(byte) >= 0x80; });
}

/// Calls use(character, its text, its end) for each character.
template <class Use>
void for_each_character(std::string_view text, Use&& use) {
  for (std::size_t at = 0; at < text.size();) {
    const auto character = unicode::first(text.substr(at));
    use(character.code, text.substr(at, character.size), at + character.size);
    at += character.size;
  }
}

/// ASCII and ideographs are first in whatever they combine to, and nothing before them combines with them.
bool begins_run(std::string_view text, std::size_t at) {
  const auto byte = static_cast<unsigned char>(text[at]);
  return byte < 0x80 || (byte >= 0xE4 && byte <= 0xE9 && !continues_character(text[at]));
}

bool is_chinese(int32_t code) {
  return (code >= 0x4E00 && code <= 0x9FFF) || (code >= 0x3400 && code <= 0x4DBF) ||
         (code >= 0x20000 && code <= 0x2A6DF) || (code >= 0x2A700 && code <= 0x2B73F) ||
         (code >= 0x2B740 && code <= 0x2B81F) || (code >= 0x2B920 && code <= 0x2CEAF) ||
         (code >= 0xF900 && code <= 0xFAFF) || (code >= 0x2F800 && code <= 0x2FA1F);
}

/// Characters of one text, some changed: out of `use(change, code, bytes, end)`.
template <class Use>
void rewrite(AlignedText& text, Use&& use) {
  AlignedText::Change change(text);
  for_each_character(text.text(),
                     [&](int32_t code, std::string_view bytes, std::size_t end) { use(change, code, bytes, end); });
  text.assign(std::move(change));
}

}  // namespace

void FormNormalizer::apply(AlignedText& aligned, Regex::Scratch&) const {
  const std::string_view text = aligned.text();
  if (is_ascii(text)) return;
  AlignedText::Change change(aligned);
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at + 1;
    while (end < text.size() && !begins_run(text, end)) ++end;
    if (end == at + 1) {  // ASCII by itself
      change.keep(at, end);
    } else {
      std::string bytes;
      for (const auto& character : unicode::normalized(text.substr(at, end - at), form_)) {
        bytes.clear();
        unicode::append(bytes, character.code);
        change.put(bytes, at + character.end);
      }
    }
    at = end;
  }
  aligned.assign(std::move(change));
}

void LowercaseNormalizer::apply(AlignedText& text, Regex::Scratch&) const {
  std::string lower;
  rewrite(text, [&](AlignedText::Change& change, int32_t code, std::string_view, std::size_t end) {
    lower.clear();
    unicode::append_lower(lower, code);
    change.put(lower, end);
  });
}

void StripAccentsNormalizer::apply(AlignedText& text, Regex::Scratch&) const {
  if (is_ascii(text.text())) return;
  rewrite(text, [](AlignedText::Change& change, int32_t code, std::string_view bytes, std::size_t end) {
    if (code < 0x80 || !unicode::is_mark(code))
      change.put(bytes, end);
    else
      change.drop(end);
  });
}

void NmtNormalizer::apply(AlignedText& text, Regex::Scratch&) const {
  rewrite(text, [](AlignedText::Change& change, int32_t code, std::string_view bytes, std::size_t end) {
    const bool control = (code >= 0x01 && code <= 0x08) || code == 0x0B || (code >= 0x0E && code <= 0x1F) ||
                         code == 0x7F || code == 0x8F || code == 0x9F;
    if (control) return;
    const bool blank = code == 0x09 || code == 0x0A || code == 0x0C || code == 0x0D || code == 0x1680 ||
                       (code >= 0x200B && code <= 0x200F) || code == 0x2028 || code == 0x2029 || code == 0x2581 ||
                       code == 0xFEFF || code == 0xFFFD;
    change.put(blank ? " " : bytes, end);
  });
}

void BertNormalizer::apply(AlignedText& text, Regex::Scratch& scratch) const {
  if (options_.clean_text || options_.chinese_characters)
    rewrite(text, [&](AlignedText::Change& change, int32_t code, std::string_view bytes, std::size_t end) {
      if (options_.clean_text) {
        const bool blank = unicode::is_white_space(code);
        if (code == 0 || code == 0xFFFD || (code != '\t' && code != '\n' && code != '\r' && unicode::is_other(code)))
          return;
        if (blank) return change.put(" ", end);
      }
      if (options_.chinese_characters && is_chinese(code)) {
        change.put(" ", end - bytes.size());
        change.put(bytes, end);
        return change.put(" ", end);
      }
      change.put(bytes, end);
    });
  if (options_.strip_accents && !is_ascii(text.text())) {
    FormNormalizer(unicode::Form::nfd).apply(text, scratch);
    rewrite(text, [](AlignedText::Change& change, int32_t code, std::string_view bytes, std::size_t end) {
      if (code < 0x80 || !unicode::is_nonspacing(code))
        change.put(bytes, end);
      else
        change.drop(end);
    });
  }
  if (options_.lowercase) LowercaseNormalizer().apply(text, scratch);
}

void StripNormalizer::apply(AlignedText& aligned, Regex::Scratch&) const {
  const std::string_view text = aligned.text();
  std::size_t begin = 0, end = text.size();
  while (left_ && begin < end) {
    const auto character = unicode::first(text.substr(begin));
    if (!unicode::is_white_space(character.code)) break;
    begin += character.size;
  }
  while (right_ && end > begin) {
    const auto character = unicode::before(text, end);
    if (!unicode::is_white_space(character.code)) break;
    end -= character.size;
  }
  if (begin == 0 && end == text.size()) return;
  AlignedText::Change change(aligned);
  change.keep(begin, end);
  aligned.assign(std::move(change));
}

void PrependNormalizer::apply(AlignedText& aligned, Regex::Scratch&) const {
  const std::size_t size = aligned.text().size();
  if (size == 0) return;
  AlignedText::Change change(aligned);
  change.put(prefix_, 0);
  change.keep(0, size);
  aligned.assign(std::move(change));
}

void ReplaceNormalizer::apply(AlignedText& aligned, Regex::Scratch& scratch) const {
  const std::string_view text = aligned.text();
  AlignedText::Change change(aligned);
  std::size_t at = 0;
  pattern_.for_each(text, scratch, [&](std::size_t begin, std::size_t end) {
    change.keep(at, begin);
    change.put(content_, end);
    at = end;
  });
  if (at == 0 && change.size() == 0) return;
  change.keep(at, text.size());
  aligned.assign(std::move(change));
}

}  // namespace longspan
