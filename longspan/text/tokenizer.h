// Text to token numbers and back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "longspan/base/fields.h"

namespace longspan {

/// Tokens of a text and how much of it each stands for.
struct Encoding {
  std::vector<uint32_t> tokens;
  /// Bytes of the text that token i stands for, 0 where several tokens share a character or a token was added. They add
  /// up to the text, unless it has no token at all.
  std::vector<uint32_t> source_bytes;
};

/// A tokenizer. Immutable, safe for several threads.
///
/// The byte tokenizer is exact: decode(encode(text)) == text whatever the bytes, and so is a byte-level BPE that
/// changes no text. Others need not be: what a SentencePiece model normalises (blanks, compatibility characters, line
/// breaks) or does not know is lost, so bits per byte divide by bytes of the source (Encoding::source_bytes), never of
/// decoded text.
///
/// A text of any length is encoded piece by piece (text/pieces.h): encode() of the whole is the tokens of its pieces
/// one after the other, by definition.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// "bytes", "sentencepiece", "bpe", "wordpiece", "unigram", "wordlevel".
  virtual std::string name() const = 0;
  /// Tokens are 0 .. vocabulary_size() - 1.
  virtual int64_t vocabulary_size() const = 0;
  /// True when every token stands for exactly one byte, so that a text may be cut anywhere.
  virtual bool is_bytewise() const { return true; }
  /// False when text must be UTF-8.
  virtual bool reads_any_bytes() const { return is_bytewise(); }

  /// Throws InputError for text that the tokenizer cannot read: not UTF-8, with the offset of the first wrong byte.
  virtual std::vector<uint32_t> encode(std::string_view text) const = 0;
  /// The same tokens with the bytes behind them.
  virtual Encoding encode_aligned(std::string_view text) const;

  /// Throws InputError for a token outside the vocabulary.
  virtual std::string decode(std::span<const uint32_t> tokens) const = 0;
  /// What `token` adds to a text when tokens are decoded one after the other (text/decoder.h keeps the count);
  /// `line_start`: nothing of its line is there yet. May be a part of a character. Throws as decode().
  virtual std::string token_text(uint32_t token, bool line_start) const;
  /// Whether every line begins as a text does, for `line_start`; else the text alone does.
  virtual bool starts_anew_at_lines() const { return true; }

  /// Where the first piece of `text` ends, or 0 when more of the text is needed to tell; `last`: there is no more.
  /// Never 0 when `last`, nor once `text` is longer than 2^20 bytes, unless it is empty.
  virtual std::size_t piece_end(std::string_view text, bool last) const { return text.size(); }

  /// Equal for equal tokenizers, different for others. What make_tokenizer() needs to build it again, and so the
  /// content of `tokenizer.json`, unless the tokenizer has a model().
  virtual FieldValues description() const = 0;
  /// Content of the file it was made from; empty for one that its description makes.
  virtual std::string model() const { return ""; }
  /// Name of that file in a folder.
  virtual std::string model_file() const { return "tokenizer.model"; }
};

/// The tokenizer of a description. Throws InputError "<origin>: ..." for an unknown name or a field that does not fit.
std::unique_ptr<Tokenizer> make_tokenizer(const FieldValues& description, std::string_view origin);

/// Names that make_tokenizer() knows.
std::vector<std::string> tokenizer_names();

}  // namespace longspan
