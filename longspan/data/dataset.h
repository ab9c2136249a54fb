// A data set of tokens: the folder that `longspan prepare` writes.
//
// - train.bin, valid.bin, test.bin: tokens as uint8, uint16 or uint32, little endian, by the size of the vocabulary;
//   `test` is there when files were held out
// - <split>.documents.bin: where its documents begin (data/document_index.h)
// - dataset.json: format version, tokenizer, vocabulary, dtype; per split the numbers of SplitInfo
// - tokenizer.json: the tokenizer
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "longspan/base/progress.h"
#include "longspan/data/document_index.h"
#include "longspan/data/token_file.h"
#include "longspan/text/tokenizer.h"

namespace longspan {

/// Sizes of one split, each at least 1.
struct SplitInfo {
  int64_t tokens = 0;
  int64_t source_bytes = 0;  ///< bytes of text, for bits per byte
  int64_t documents = 0;     ///< files with at least one byte in the split
};

/// An opened data set. Movable.
class Dataset {
 public:
  /// Throws InputError when the folder or a file is missing, damaged, of another format version, or when its numbers
  /// cannot be true.
  explicit Dataset(std::string folder);

  /// True when `folder` has a dataset.json, for programs that take either a data set or a text file.
  static bool is_dataset(const std::string& folder);

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
  };
  const Split& find(const std::string& name) const;

  std::string folder_;
  std::unique_ptr<Tokenizer> tokenizer_;
  std::map<std::string, Split> splits_;
};

/// What write_dataset() makes.
struct DatasetOptions {
  std::vector<std::string> inputs;    ///< text files to train on, at least one, in this order
  std::vector<std::string> held_out;  ///< text files of the split `test`; none: no such split
  std::string output;                 ///< folder to write
  /// Part of the training text, from its end, by bytes, that becomes `valid`: in (0, 0.5], at least kMinimumValidBytes.
  double valid_fraction = 0.02;
  /// Replace an existing data set. A folder that is not one, or holds anything besides, is never replaced.
  bool overwrite = false;
};

/// A target block of 1,024 tokens and the one token before it: what an evaluation needs at the least.
inline constexpr int64_t kMinimumValidBytes = 1025;

/// Reads the files as bytes in pieces of 1 MiB (memory does not grow with the text) and writes the folder: it is filled
/// aside and renamed when complete. Returns the sizes by split.
/// Throws InputError for a missing, unreadable or empty file, a directory, a file that is both trained on and held out,
/// training text too short to cut a validation part from, an output that exists, or a file inside it; RunError when
/// writing fails.
std::map<std::string, SplitInfo> write_dataset(const DatasetOptions& options, Progress& progress);

}  // namespace longspan
