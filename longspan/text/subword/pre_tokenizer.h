// The second step of a tokenizer: text is cut into words.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "longspan/text/subword/aligned_text.h"
#include "longspan/text/subword/regex.h"

namespace longspan {

/// A text, which a step may change, and its words, none of them empty.
struct Words {
  AlignedText& text;
  std::vector<TextSpan>& spans;
};

/// Immutable, safe for several threads.
class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  /// Cuts each of the words at hand further.
  virtual void apply(Words& words, Regex::Scratch& scratch) const = 0;
  /// Where a word surely ends.
  virtual CutPlaces breaks() const = 0;
  /// Where cutting the text first changes nothing but that words end there.
  virtual CutPlaces cuts() const { return kCutAnywhere; }
};

using PreTokenizerList = std::vector<std::unique_ptr<PreTokenizer>>;

/// What becomes of the matches of a pattern and of what stands between them.
enum class SplitBehavior { removed, isolated, merged_with_previous, merged_with_next, contiguous };

/// "Split", and whatever else is one: "CharDelimiterSplit", "Digits", "Punctuation", "Whitespace", "WhitespaceSplit",
/// "BertPreTokenizer" by two of them.
class SplitPreTokenizer final : public PreTokenizer {
 public:
  /// `invert`: what is between the matches counts as match, and the other way round.
  SplitPreTokenizer(Regex pattern, SplitBehavior behavior, bool invert, CutPlaces breaks, CutPlaces cuts)
      : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert), breaks_(breaks), cuts_(cuts) {}
  void apply(Words& words, Regex::Scratch& scratch) const override;
  CutPlaces breaks() const override { return breaks_; }
  CutPlaces cuts() const override { return cuts_; }

 private:
  Regex pattern_;
  SplitBehavior behavior_;
  bool invert_;
  CutPlaces breaks_, cuts_;
};

/// "Split" by one of the patterns of cuts_at_blanks(), each match a word: the same as SplitPreTokenizer, and faster.
class WordPreTokenizer final : public PreTokenizer {
 public:
  explicit WordPreTokenizer(Regex pattern) : pattern_(std::move(pattern)) {}
  void apply(Words& words, Regex::Scratch& scratch) const override;
  CutPlaces breaks() const override { return kCutAnywhere; }

 private:
  Regex pattern_;
};

/// "ByteLevel": a blank before a word that has none, if asked for, and the pattern of GPT-2, if asked for. The words
/// are bytes from there on.
class ByteLevelPreTokenizer final : public PreTokenizer {
 public:
  ByteLevelPreTokenizer(bool add_prefix_space, bool use_regex);
  void apply(Words& words, Regex::Scratch& scratch) const override;
  CutPlaces breaks() const override { return pattern_ ? kCutAnywhere : kCutNowhere; }
  CutPlaces cuts() const override { return {true, !add_prefix_space_, !add_prefix_space_}; }

 private:
  bool add_prefix_space_;
  std::optional<WordPreTokenizer> pattern_;
};

/// "UnicodeScripts": a word ends where the script of its letters changes. Hiragana, Katakana and Han are one script; a
/// blank has that of what is before it, and where nothing is it is left out.
class ScriptsPreTokenizer final : public PreTokenizer {
 public:
  void apply(Words& words, Regex::Scratch& scratch) const override;
  CutPlaces breaks() const override { return kCutNowhere; }
  CutPlaces cuts() const override { return kCutNowhere; }
};

/// "FixedLength": words of so many characters, the last one of what is left.
class FixedLengthPreTokenizer final : public PreTokenizer {
 public:
  explicit FixedLengthPreTokenizer(std::size_t length) : length_(length) {}
  void apply(Words& words, Regex::Scratch& scratch) const override;
  CutPlaces breaks() const override { return kCutNowhere; }
  CutPlaces cuts() const override { return kCutNowhere; }

 private:
  std::size_t length_;
};

/// "Metaspace": blanks become a sign, of which one is put before the text, and a word begins with each.
class MetaspacePreTokenizer final : public PreTokenizer {
 public:
  enum class Prepend { never, first, always };
  MetaspacePreTokenizer(std::string sign, Prepend prepend, bool split)
      : sign_(std::move(sign)), prepend_(prepend), split_(split) {}
  void apply(Words& words, Regex::Scratch& scratch) const override;
  CutPlaces breaks() const override { return {split_, false, false}; }
  CutPlaces cuts() const override { return {true, false, false}; }

 private:
  std::string sign_;
  Prepend prepend_;
  bool split_;
};

}  // namespace longspan
