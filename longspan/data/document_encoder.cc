#include "longspan/data/document_encoder.h"

#include "longspan/base/check.h"
#include "longspan/text/utf8.h"

namespace longspan {

namespace {

/// Text that is not bytewise must be UTF-8; said here, where the place in the file is known.
void check_utf8(std::string_view piece, const std::string& name, int64_t offset) {
  const std::size_t at = invalid_utf8(piece);
  LONGSPAN_CHECK(at == std::string_view::npos, name, ": is not UTF-8 at byte ", offset + static_cast<int64_t>(at),
                 " of the text (0x", "0123456789abcdef"[static_cast<unsigned char>(piece[at]) >> 4],
                 "0123456789abcdef"[piece[at] & 15], "); convert it, or use the tokenizer bytes");
}

}  // namespace

void DocumentEncoder::text(SplitWriter& writer, std::string_view bytes, const std::string& name, int64_t offset) {
  if (tokenizer_.is_bytewise()) {
    writer.append(tokenizer_.encode(bytes), {});
    return;
  }
  pieces_.push(bytes);
  end_ = offset + static_cast<int64_t>(bytes.size());
  encode_pieces(writer, name);
}

void DocumentEncoder::end(SplitWriter& writer, const std::string& name) {
  pieces_.finish();
  encode_pieces(writer, name);
  writer.end_document();
}

void DocumentEncoder::encode_pieces(SplitWriter& writer, const std::string& name) {
  for (std::string_view piece; pieces_.next(piece);) {
    check_utf8(piece, name, end_ - static_cast<int64_t>(pieces_.waiting() + piece.size()));
    const Encoding encoding = tokenizer_.encode_aligned(piece);
    if (encoding.tokens.empty())
      writer.append_silent(static_cast<int64_t>(piece.size()));
    else
      writer.append(encoding.tokens, encoding.source_bytes);
  }
}

}  // namespace longspan
