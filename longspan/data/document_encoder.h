// From the text of documents to the tokens of splits.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "longspan/base/parallel.h"
#include "longspan/data/split_writer.h"
#include "longspan/text/pieces.h"
#include "longspan/text/tokenizer.h"

namespace longspan {

/// Encodes documents into the writers of their splits. Pieces of a few MiB of text are encoded side by side and written
/// in their order, so the result does not depend on the number of threads.
class DocumentEncoder {
 public:
  /// Both must outlive this.
  DocumentEncoder(const Tokenizer& tokenizer, const Parallel& parallel);

  /// The next file, for messages.
  void begin_file(std::string name);
  /// A document begins, of which everything goes to `writer`.
  void begin_document(SplitWriter& writer);
  /// The next bytes of the document, which begin at `offset` of the file's text. Throws InputError, naming the place,
  /// for text that the tokenizer cannot read; that may be text of a call before.
  void text(std::string_view bytes, int64_t offset);
  void end_document();
  /// Everything that has arrived is with its writer when this returns. Throws as text().
  void flush();

 private:
  /// A piece of a document; empty: a mere border.
  struct Job {
    SplitWriter* writer;
    std::size_t begin, size;  ///< in batch_
    std::size_t file;         ///< in files_
    int64_t offset;           ///< in the file's text
    bool begins, ends;        ///< the document, before or after the piece
    Encoding encoding;
    std::string fault;
  };
  void take_pieces();
  void add(std::string_view piece, int64_t offset, bool ends);
  void encode(Job& job) const;

  const Tokenizer& tokenizer_;
  const Parallel& parallel_;
  Pieces pieces_;
  SplitWriter* writer_ = nullptr;  ///< of the document at hand
  bool begins_ = false;            ///< nothing of it has arrived
  int64_t end_ = 0;                ///< offset in the file behind the bytes that arrived
  std::vector<std::string> files_;
  std::string batch_;
  std::vector<Job> jobs_;
};

}  // namespace longspan
