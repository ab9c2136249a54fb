// From the text of documents to the tokens of a split.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "longspan/data/split_writer.h"
#include "longspan/text/pieces.h"
#include "longspan/text/tokenizer.h"

namespace longspan {

/// Encodes documents piece by piece into the writers it is given.
class DocumentEncoder {
 public:
  /// `tokenizer` must outlive this.
  explicit DocumentEncoder(const Tokenizer& tokenizer) : tokenizer_(tokenizer), pieces_(tokenizer) {}

  /// Text of a document that goes to `writer`: the next bytes of it, which begin at `offset` of the file `name`. Throws
  /// InputError, naming the place, for text that the tokenizer cannot read.
  void text(SplitWriter& writer, std::string_view bytes, const std::string& name, int64_t offset);
  /// The document ends.
  void end(SplitWriter& writer, const std::string& name);

 private:
  void encode_pieces(SplitWriter& writer, const std::string& name);

  const Tokenizer& tokenizer_;
  Pieces pieces_;
  int64_t end_ = 0;  ///< offset in the file behind the bytes that arrived
};

}  // namespace longspan
