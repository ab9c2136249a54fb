// A dataset of tokens: the folder that `longspan prepare` writes.
//
// - train.bin, valid.bin, test.bin: tokens as uint8, uint16 or uint32, little endian, by the size of the vocabulary;
//   `valid` and `test` are there when something was held out for them
// - <split>.documents.bin: where its documents begin (data/document_index.h)
// - <split>.source.bin, <split>.long.bin: bytes of the source behind the tokens, unless a token is a byte
//   (data/source_map.h)
// - dataset.json: format version, tokenizer, vocabulary, dtype; per split the numbers of SplitInfo
// - tokenizer.json or tokenizer.model: the tokenizer (data/tokenizer_file.h)
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "longspan/data/document_index.h"
#include "longspan/data/source_map.h"
#include "longspan/data/token_file.h"
#include "longspan/text/tokenizer.h"

namespace longspan {

/// Sizes of one split, each at least 1.
struct SplitInfo {
  int64_t tokens = 0;
  int64_t source_bytes = 0;  ///< bytes of text behind the tokens, for bits per byte
  int64_t documents = 0;     ///< those with at least one token in the split
};

/// An opened dataset. Movable.
class Dataset {
 public:
  /// Throws InputError when the folder or a file is missing, damaged, of another format version, or when its numbers
  /// cannot be true.
  explicit Dataset(std::string folder);

  /// True when `folder` has a dataset.json, for programs that take either a dataset or a text file.
  static bool is_dataset(const std::string& folder);
  /// The same with tokens beside it, so surely one of ours: no place to read text from, or to write anything else in.
  static bool is_dataset_with_tokens(const std::string& folder);

  const std::string& folder() const { return folder_; }
  int64_t vocabulary() const { return tokenizer_->vocabulary_size(); }
  const Tokenizer& tokenizer() const { return *tokenizer_; }
  bool has(const std::string& split) const { return splits_.contains(split); }
  /// "train", "valid" or "test". Throws InputError for a split that is not there, with the ones that are.
  const TokenFile& split(const std::string& name) const { return find(name).tokens; }
  const SplitInfo& info(const std::string& name) const { return find(name).info; }
  /// Borders of the split's documents.
  const DocumentIndex& documents(const std::string& name) const { return find(name).documents; }
  /// Bytes of source text that tokens [first, first + count) of a split stand for, exactly. Throws InputError for a
  /// range outside the split.
  int64_t source_bytes(const std::string& name, int64_t first, int64_t count) const;
  std::vector<std::string> split_names() const;

 private:
  struct Split {
    SplitInfo info;
    TokenFile tokens;
    DocumentIndex documents;
    std::optional<SourceMap> source;  ///< none: a token is a byte
  };
  const Split& find(const std::string& name) const;

  std::string folder_;
  std::unique_ptr<Tokenizer> tokenizer_;
  std::map<std::string, Split> splits_;
};

}  // namespace longspan
