// Tokenizers of words and their parts: byte-level BPE, BPE over characters, WordPiece, Unigram, WordLevel.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "longspan/text/subword/added_tokens.h"
#include "longspan/text/subword/normalizer.h"
#include "longspan/text/subword/post_processor.h"
#include "longspan/text/subword/pre_tokenizer.h"
#include "longspan/text/subword/subword_model.h"
#include "longspan/text/subword/token_decoder.h"
#include "longspan/text/tokenizer.h"

namespace longspan {

/// The steps of a tokenizer, and the file that they stand in.
struct SubwordParts {
  NormalizerList normalizers = {};
  PreTokenizerList pre_tokenizers = {};
  std::unique_ptr<SubwordModel> model = {};
  std::vector<AddedToken> added = {};
  SpecialTemplate special = {};
  DecodeStepList decoder = {};  ///< unused where the model reads bytes
  std::string file = {};        ///< content of `tokenizer.json`
};

/// A text or two among special tokens, for encoders.
struct SpecialEncoding {
  std::vector<uint32_t> tokens = {};
  std::vector<uint32_t> types = {};  ///< 0 or 1 for each: which text it belongs to, as the file says
};

/// What a `tokenizer.json` of the library `tokenizers` describes; also made of the files of GPT-2 and of tiktoken
/// (read_tokenizer_json(), read_merges(), read_ranks()). Token for token what these libraries give for valid UTF-8.
///
/// A byte-level model reads any bytes. What is no UTF-8 is a word by itself: the bytes from a wrong one to the next
/// character, in the tokens that they merge to. decode(encode(text)) is `text` unless the file says that text is
/// changed (a normaliser, add_prefix_space, a token with lstrip or rstrip). Every other model takes UTF-8 alone.
///
/// encode() adds no special tokens; encode_special() does. Special tokens that are written out in a text are found.
///
/// Pieces: where all steps allow it, a text is cut between a letter or number and the blank behind it, and after lines,
/// which changes no token. Where a step does not (an unknown pattern, a normaliser of the text's ends), a text of up to
/// 2^20 bytes is one piece, and a longer one is cut before a blank and read as several texts.
class SubwordTokenizer final : public Tokenizer {
 public:
  /// Throws InputError "<origin>: ..." where the parts do not fit.
  SubwordTokenizer(SubwordParts parts, std::string_view origin);
  ~SubwordTokenizer() override;

  std::string name() const override { return std::string(parts_.model->kind()); }
  int64_t vocabulary_size() const override { return static_cast<int64_t>(texts_.size()); }
  bool is_bytewise() const override { return false; }
  bool reads_any_bytes() const override { return parts_.model->reads_bytes() && parts_.normalizers.empty(); }
  std::vector<uint32_t> encode(std::string_view text) const override;
  Encoding encode_aligned(std::string_view text) const override;
  std::string decode(std::span<const uint32_t> tokens) const override;
  std::string token_text(uint32_t token, bool start) const override;
  bool starts_anew_at_lines() const override { return false; }
  std::size_t piece_end(std::string_view text, bool last) const override;
  FieldValues description() const override;
  std::string model() const override { return parts_.file; }
  std::string model_file() const override { return "tokenizer.json"; }

  /// One text, or a pair, with the special tokens of the file around them.
  SpecialEncoding encode_special(std::string_view text, std::optional<std::string_view> second = {}) const;
  /// Where the file puts them.
  const SpecialTemplate& special_template() const { return parts_.special; }
  /// The number of a token by its name in the file, added or not.
  std::optional<uint32_t> find(std::string_view name) const;
  /// The name of a token in the file; "" for a number without one.
  const std::string& token_name(uint32_t token) const;
  bool is_special(uint32_t token) const;

 private:
  struct Work;  // what a thread needs, kept for the next call
  class Borrowed;
  class Pool;
  void encode_into(std::string_view text, bool aligned, Encoding& out) const;
  void encode_segment(std::string_view text, std::size_t offset, Work& work) const;
  void encode_words(AlignedText& text, std::size_t begin, std::size_t end, Work& work) const;
  void encode_word(std::string_view word, Work& work) const;

  SubwordParts parts_;
  std::string origin_;
  AddedTokenFinder raw_, normalized_;
  std::vector<const std::string*> texts_;  ///< by number: an added token's content, the model's text, or nullptr
  std::vector<char> added_;                ///< by number: 1 added, 2 special too
  CutPlaces cuts_;
  std::string fingerprint_;
  std::unique_ptr<Pool> pool_;
};

}  // namespace longspan
