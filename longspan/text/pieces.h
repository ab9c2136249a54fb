// An endless stream of bytes, cut into pieces that can be encoded one after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "longspan/text/tokenizer.h"

namespace longspan {

/// A line longer than this is cut, so that memory stays bounded.
inline constexpr std::size_t kLongestPiece = std::size_t{1} << 20;

/// Cuts a stream where `tokenizer` allows it: the tokens of the pieces, one after the other, are those of the whole
/// text, however the stream arrived.
/// - bytes: anywhere, so whatever has arrived is a piece.
/// - SentencePiece: after each line break. A line over kLongestPiece is cut before its last blank within that length,
///   or where it has none between two characters.
///
///     Pieces pieces(tokenizer);
///     while (read(buffer)) { pieces.push(buffer); while (pieces.next(piece)) use(tokenizer.encode(piece)); }
///     pieces.finish();       while (pieces.next(piece)) use(tokenizer.encode(piece));
class Pieces {
 public:
  /// `tokenizer` must outlive this.
  explicit Pieces(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  /// The next bytes of the stream.
  void push(std::string_view bytes);
  /// The stream has ended: what is left are pieces too. push() begins a new stream, once they are taken.
  void finish() { finished_ = true; }
  /// The next piece, valid until push(). False when more bytes are needed, or all are taken.
  bool next(std::string_view& piece);
  /// Bytes that arrived and are in no piece yet.
  std::size_t waiting() const { return buffer_.size() - begin_; }

 private:
  const Tokenizer& tokenizer_;
  std::string buffer_;
  std::size_t begin_ = 0;  ///< of what is in no piece yet
  bool finished_ = false;
};

}  // namespace longspan
