// SentencePiece models, through their own library.
#pragma once

#include <memory>
#include <string>

#include "longspan/text/tokenizer.h"

namespace longspan {

/// A SentencePiece model of any type (unigram, BPE, word, char), as `spm_train` writes it.
///
/// Text must be UTF-8. Pieces are lines with their line break; the model then decides what becomes of the break: most
/// drop it like any blank at an end, models trained with `--normalization_rule_name=identity` keep it as a byte token,
/// as a piece of their own or as an unknown one. No tokens for the beginning or the end of a text are added.
///
/// Source bytes: a token stands for the bytes from the end of the one before it to its own end in the library's
/// alignment; what follows the last token of a line belongs to it.
///
/// decode() joins the texts of the tokens: unknown ones are " ⁇ ", control tokens nothing, byte tokens their byte (also
/// where the bytes are no UTF-8), and the blank that the model puts before every line is taken away.
class SentencePieceTokenizer final : public Tokenizer {
 public:
  /// `model`: the content of the file. Throws InputError "<origin>: ..." when it is not such a model or is damaged.
  SentencePieceTokenizer(std::string model, std::string_view origin);
  ~SentencePieceTokenizer() override;

  std::string name() const override { return "sentencepiece"; }
  int64_t vocabulary_size() const override;
  bool is_bytewise() const override { return false; }
  std::vector<uint32_t> encode(std::string_view text) const override;
  Encoding encode_aligned(std::string_view text) const override;
  std::string decode(std::span<const uint32_t> tokens) const override;
  std::string token_text(uint32_t token, bool line_start) const override;
  std::size_t piece_end(std::string_view text, bool last) const override;
  /// Name, vocabulary, and a fingerprint of the model's bytes.
  FieldValues description() const override;
  std::string model() const override { return model_; }

 private:
  struct Library;  // keeps the library's header out of ours
  std::string model_;
  std::unique_ptr<Library> library_;
};

}  // namespace longspan
