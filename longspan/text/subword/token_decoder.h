// What a token adds to a text.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace longspan {

/// A step from the name of a token to its text. `first`: no text is there yet.
class DecodeStep {
 public:
  virtual ~DecodeStep() = default;
  virtual void apply(std::string& text, bool first) const = 0;
};
using DecodeStepList = std::vector<std::unique_ptr<DecodeStep>>;

/// "Metaspace": the sign is a blank, but at the beginning of a text nothing.
class MetaspaceDecoder final : public DecodeStep {
 public:
  MetaspaceDecoder(std::string sign, bool drop_first) : sign_(std::move(sign)), drop_first_(drop_first) {}
  void apply(std::string& text, bool first) const override;

 private:
  std::string sign_;
  bool drop_first_;
};

/// "WordPiece": a blank before a token without the prefix; `cleanup` takes blanks before punctuation away.
class WordPieceDecoder final : public DecodeStep {
 public:
  WordPieceDecoder(std::string prefix, bool cleanup) : prefix_(std::move(prefix)), cleanup_(cleanup) {}
  void apply(std::string& text, bool first) const override;

 private:
  std::string prefix_;
  bool cleanup_;
};

/// "ByteFallback": "<0x0A>" is a byte, whether or not it and its neighbours are UTF-8.
class ByteFallbackDecoder final : public DecodeStep {
 public:
  void apply(std::string& text, bool first) const override;
};

/// "Replace" of a fixed text.
class ReplaceDecoder final : public DecodeStep {
 public:
  ReplaceDecoder(std::string from, std::string to) : from_(std::move(from)), to_(std::move(to)) {}
  void apply(std::string& text, bool first) const override;

 private:
  std::string from_, to_;
};

/// "Strip": up to so many characters at the ends, of the whole text (begin alone) or of each token.
class StripDecoder final : public DecodeStep {
 public:
  StripDecoder(std::string content, std::size_t start, std::size_t stop, bool each)
      : content_(std::move(content)), start_(start), stop_(stop), each_(each) {}
  void apply(std::string& text, bool first) const override;

 private:
  std::string content_;
  std::size_t start_, stop_;
  bool each_;
};

/// No decoder at all: tokens are joined by blanks.
class BlanksDecoder final : public DecodeStep {
 public:
  void apply(std::string& text, bool first) const override {
    if (!first) text.insert(0, 1, ' ');
  }
};

}  // namespace longspan
