// The first step of a tokenizer: text is brought into one form.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "longspan/text/subword/aligned_text.h"
#include "longspan/text/subword/regex.h"
#include "longspan/text/subword/unicode.h"

namespace longspan {

/// Immutable, safe for several threads.
class Normalizer {
 public:
  virtual ~Normalizer() = default;
  virtual void apply(AlignedText& text, Regex::Scratch& scratch) const = 0;
  /// Where cutting the text first gives the same.
  virtual CutPlaces cuts() const { return kCutAnywhere; }
};

using NormalizerList = std::vector<std::unique_ptr<Normalizer>>;

/// NFC, NFD, NFKC, NFKD.
class FormNormalizer final : public Normalizer {
 public:
  explicit FormNormalizer(unicode::Form form) : form_(form) {}
  void apply(AlignedText& text, Regex::Scratch&) const override;

 private:
  unicode::Form form_;
};

/// "BertNormalizer", and of its parts "Lowercase" and "StripAccents", which differs: it takes marks away, and
/// decomposes nothing.
struct BertOptions {
  bool clean_text = true;          ///< controls go, blanks become U+0020
  bool chinese_characters = true;  ///< stand by themselves
  bool strip_accents = true;       ///< NFD, then without nonspacing marks
  bool lowercase = true;
};
class BertNormalizer final : public Normalizer {
 public:
  explicit BertNormalizer(BertOptions options) : options_(options) {}
  void apply(AlignedText& text, Regex::Scratch& scratch) const override;

 private:
  BertOptions options_;
};
class LowercaseNormalizer final : public Normalizer {
 public:
  void apply(AlignedText& text, Regex::Scratch&) const override;
};
class StripAccentsNormalizer final : public Normalizer {
 public:
  void apply(AlignedText& text, Regex::Scratch&) const override;
};

/// "Nmt": controls go; other signs that separate words become U+0020.
class NmtNormalizer final : public Normalizer {
 public:
  void apply(AlignedText& text, Regex::Scratch&) const override;
  /// Line breaks become blanks, which a word may begin with.
  CutPlaces cuts() const override { return {true, false, false}; }
};

/// "Strip": without white space at the ends.
class StripNormalizer final : public Normalizer {
 public:
  StripNormalizer(bool left, bool right) : left_(left), right_(right) {}
  void apply(AlignedText& text, Regex::Scratch&) const override;
  CutPlaces cuts() const override { return kCutNowhere; }

 private:
  bool left_, right_;
};

/// "Prepend": a text before every text that is not empty.
class PrependNormalizer final : public Normalizer {
 public:
  explicit PrependNormalizer(std::string prefix) : prefix_(std::move(prefix)) {}
  void apply(AlignedText& text, Regex::Scratch&) const override;
  CutPlaces cuts() const override { return kCutNowhere; }

 private:
  std::string prefix_;
};

/// "Replace": every match of a pattern by a text.
class ReplaceNormalizer final : public Normalizer {
 public:
  ReplaceNormalizer(Regex pattern, std::string content, CutPlaces cuts)
      : pattern_(std::move(pattern)), content_(std::move(content)), cuts_(cuts) {}
  void apply(AlignedText& text, Regex::Scratch& scratch) const override;
  CutPlaces cuts() const override { return cuts_; }

 private:
  Regex pattern_;
  std::string content_;
  CutPlaces cuts_;
};

}  // namespace longspan
