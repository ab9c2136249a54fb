// The files of one split while they are written.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "longspan/data/dataset.h"
#include "longspan/data/source_map_writer.h"
#include "longspan/io/append_file.h"
#include "longspan/io/atomic_file.h"

namespace longspan {

/// Writes tokens, borders of documents and, where tokens are not bytes, the map to the source. Memory does not grow.
class SplitWriter {
 public:
  /// Files of split `name` in `folder`; messages name them in `shown`, where the folder will be.
  SplitWriter(const AtomicFolder& folder, const std::string& shown, const std::string& name,
              const Tokenizer& tokenizer);

  /// The next token begins a document.
  void begin_document() { begins_ = true; }
  /// The next tokens of the document. `source_bytes`: of each; not read for a bytewise tokenizer.
  void append(const std::vector<uint32_t>& tokens, const std::vector<uint32_t>& source_bytes);
  /// Text of the document that gave no token: it counts for the token after it, or else for the last one of the
  /// document. A document without a token leaves no trace.
  void append_silent(int64_t source_bytes) { silent_ += source_bytes; }
  void end_document();

  /// Sizes so far, of documents that have ended.
  SplitInfo info() const;
  /// The first token that begins at byte `offset` of the source or later.
  int64_t token_at(int64_t offset);
  /// Takes tokens from `first` on away and makes them the content of the empty split `to`.
  void move_tail(int64_t first, SplitWriter& to);
  /// To disk, synced; nothing else may be called then.
  void close();

 private:
  void append_border(int64_t token);
  int64_t border(int64_t i);

  int64_t width_;  ///< bytes of a token
  AppendFile tokens_, borders_;
  std::unique_ptr<SourceMapWriter> map_;  ///< null: bytewise
  bool begins_ = false;
  int64_t silent_ = 0;
  int64_t held_ = -1;  ///< bytes of the last token, not in the map yet; -1: none
  std::vector<char> buffer_;
};

}  // namespace longspan
