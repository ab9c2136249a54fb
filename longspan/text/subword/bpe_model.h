// Byte pair encoding (Sennrich et al., 2016), over bytes or characters.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "longspan/text/subword/merge_table.h"
#include "longspan/text/subword/subword_model.h"

namespace longspan {

struct BpeOptions {
  bool bytes = false;                       ///< words are bytes; names are in the byte alphabet
  std::optional<std::string> unknown = {};  ///< token of what the vocabulary lacks; none: it is dropped
  bool fuse_unknown = false;                ///< one token for several in a row
  bool byte_fallback = false;               ///< tokens "<0x0A>" for what the vocabulary lacks, if all are there
  bool ignore_merges = false;               ///< a word that is a token is that token
  std::string continuing_prefix = {};       ///< before every symbol but the first of a word
  std::string end_suffix = {};              ///< behind the last
};

/// The model "BPE" of tokenizer.json, and the ranks of tiktoken.
class BpeModel final : public SubwordModel {
 public:
  /// `merges` in their order. Throws InputError "<owner>: ..." for a merge of tokens that are not there, an unknown
  /// token that is none, and for `bytes` together with byte_fallback.
  BpeModel(Vocabulary vocabulary, const std::vector<std::pair<std::string, std::string>>& merges, BpeOptions options,
           std::string_view owner);

  /// Any two tokens merge whose bytes together are a token, that of the lowest number first (tiktoken). `vocabulary` is
  /// in the byte alphabet. Throws InputError "<owner>: ..." unless all 256 bytes are tokens.
  static BpeModel of_ranks(Vocabulary vocabulary, std::string_view owner);

  std::string_view kind() const override { return "bpe"; }
  bool reads_bytes() const override { return options_.bytes; }
  void encode(std::string_view word, std::vector<WordToken>& out) const override;
  const std::string& text(uint32_t id) const override { return options_.bytes ? texts_[id] : *vocabulary_.name(id); }
  bool never_joins(std::string_view mark) const override;

 private:
  BpeModel(Vocabulary vocabulary, BpeOptions options, std::string_view owner);
  void symbols_of(std::string_view word, std::vector<WordToken>& out) const;
  bool add_bytes(std::string_view symbol, uint32_t end, std::vector<WordToken>& out) const;

  BpeOptions options_;
  MergeTable merges_;
  std::vector<std::string> texts_;                             ///< by number: bytes
  TextMap<uint32_t> words_;                                    ///< what symbols and whole words are looked up in
  std::array<std::optional<uint32_t>, 256> byte_tokens_ = {};  ///< of the byte itself, or of "<0x..>"
  std::optional<uint32_t> unknown_;
};

}  // namespace longspan
