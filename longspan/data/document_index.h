// Where the documents of a split begin.
#pragma once

#include <cstdint>
#include <string>

#include "longspan/io/mapped_file.h"

namespace longspan {

/// Borders of the documents of one split, read where they lie: "<split>.documents.bin" holds the first token of each as
/// uint64, little endian, ascending from 0. Documents follow each other without a gap and none is empty. Opening is
/// quick whatever the size; borders are checked where they are read, so a damaged file is an InputError there. Movable;
/// reading is safe from several threads.
class DocumentIndex {
 public:
  /// `tokens`: of the split, at least 1. Throws InputError when the file cannot be read, is not a whole number of
  /// entries, holds none or more than tokens, does not begin with 0, or ends outside the tokens.
  DocumentIndex(std::string path, int64_t tokens);

  const std::string& path() const { return file_.path(); }
  /// Number of documents, at least 1.
  int64_t size() const { return size_; }
  /// First token of document i, and the token after its last. Throws InputError for i outside [0, size()), and for
  /// borders that do not ascend (a damaged file).
  int64_t begin(int64_t i) const;
  int64_t end(int64_t i) const;
  /// The document that holds a token. Throws InputError for a token outside the split. Logarithmic in size().
  int64_t find(int64_t token) const;

 private:
  int64_t at(int64_t i) const;  ///< entry i as it lies; the number of tokens for i == size()
  void check(int64_t i) const;

  MappedFile file_;
  int64_t tokens_;
  int64_t size_;
};

}  // namespace longspan
