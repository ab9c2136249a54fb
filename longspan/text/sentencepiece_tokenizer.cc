#include "longspan/text/sentencepiece_tokenizer.h"

#include <sentencepiece_processor.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "longspan/base/check.h"
#include "longspan/text/decoder.h"
#include "longspan/text/pieces.h"
#include "longspan/text/utf8.h"

namespace longspan {

namespace {

/// FNV-1a of 64 bits, as 16 hexadecimal digits: tells models apart, no more.
std::string fingerprint(std::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  std::string digits(16, '0');
  for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit, hash >>= 4)
    *digit = "0123456789abcdef"[hash & 15];
  return digits;
}

void check_utf8(std::string_view text) {
  const std::size_t at = invalid_utf8(text);
  LONGSPAN_CHECK(at == std::string_view::npos, "tokenizer sentencepiece: the text is not UTF-8 at byte ", at);
}

}  // namespace

struct SentencePieceTokenizer::Library {
  sentencepiece::SentencePieceProcessor processor;
  int context = -1;  ///< a token with text, to see what another adds after it
  std::string context_text;

  /// The library numbers tokens by int and checks none of them.
  bool has(uint32_t token) const { return token < static_cast<uint32_t>(processor.GetPieceSize()); }

  /// Tokens of one piece with their ends in it, as calls of use(token, end).
  template <class Use>
  void encode_piece(std::string_view piece, const Use& use) const {
    sentencepiece::ImmutableSentencePieceText out;
    const auto status = processor.Encode(piece, out.mutable_proto());
    if (!status.ok()) throw RunError(str_cat("tokenizer sentencepiece: cannot encode: ", status.message()));
    const std::size_t count = out.pieces_size();
    uint32_t end = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const auto token = out.pieces(static_cast<int>(i));
      end = std::max(end, i + 1 < count ? token.end() : static_cast<uint32_t>(piece.size()));
      use(token.id(), end);
    }
  }
};

SentencePieceTokenizer::SentencePieceTokenizer(std::string model, std::string_view origin)
    : model_(std::move(model)), library_(std::make_unique<Library>()) {
  auto& processor = library_->processor;
  // An empty file is a model without pieces to the library; its own messages name lines of its sources.
  LONGSPAN_CHECK(!model_.empty() && processor.LoadFromSerializedProto(model_).ok() && processor.GetPieceSize() > 0,
                 origin, ": is not a SentencePiece model, or a damaged one");
  for (int token = 0; token < processor.GetPieceSize() && library_->context < 0; ++token) {
    if (processor.IsControl(token) || processor.IsUnknown(token) || processor.IsByte(token)) continue;
    const std::string text = processor.DecodeIds({token});
    if (text.find_first_not_of(' ') == std::string::npos) continue;
    library_->context = token;
    library_->context_text = text;
  }
}

SentencePieceTokenizer::~SentencePieceTokenizer() = default;

int64_t SentencePieceTokenizer::vocabulary_size() const { return library_->processor.GetPieceSize(); }

std::vector<uint32_t> SentencePieceTokenizer::encode(std::string_view text) const {
  return encode_aligned(text).tokens;
}

Encoding SentencePieceTokenizer::encode_aligned(std::string_view text) const {
  check_utf8(text);
  Encoding out;
  std::size_t waiting = 0;  // bytes of pieces without a token: they go to the next one
  while (!text.empty()) {
    const std::string_view piece = text.substr(0, piece_end(text, true));
    text.remove_prefix(piece.size());
    const std::size_t before = out.tokens.size();
    uint32_t begin = 0;
    library_->encode_piece(piece, [&](uint32_t token, uint32_t end) {
      out.tokens.push_back(token);
      out.source_bytes.push_back(end - begin);
      begin = end;
    });
    if (out.tokens.size() == before)
      waiting += piece.size();
    else
      out.source_bytes[before] += static_cast<uint32_t>(std::exchange(waiting, 0));
  }
  if (!out.tokens.empty()) out.source_bytes.back() += static_cast<uint32_t>(waiting);
  return out;
}

std::string SentencePieceTokenizer::decode(std::span<const uint32_t> tokens) const {
  std::string text;
  TokenDecoder decoder(*this);
  for (const uint32_t token : tokens) text += decoder.push(token);
  return text;
}

std::string SentencePieceTokenizer::token_text(uint32_t token, bool line_start) const {
  LONGSPAN_CHECK(library_->has(token), "tokenizer sentencepiece: token must be below ", vocabulary_size(), ", got ",
                 token);
  const auto& processor = library_->processor;
  const int id = static_cast<int>(token);
  if (processor.IsControl(id)) return "";
  if (processor.IsByte(id)) {  // "<0x0A>"
    const std::string& name = processor.IdToPiece(id);
    unsigned value = 0;
    if (name.size() >= 5) std::from_chars(name.data() + 3, name.data() + 5, value, 16);
    return {static_cast<char>(value)};
  }
  if (line_start || library_->context < 0) return processor.DecodeIds({id});
  const std::string both = processor.DecodeIds({library_->context, id});
  const std::string& context = library_->context_text;
  return both.starts_with(context) ? both.substr(context.size()) : processor.DecodeIds({id});
}

std::size_t SentencePieceTokenizer::piece_end(std::string_view text, bool last) const {
  const std::string_view start = text.substr(0, kLongestPiece);
  if (const std::size_t line = start.find('\n'); line != std::string_view::npos) return line + 1;
  if (text.size() <= kLongestPiece) return last ? text.size() : 0;
  // Before the blank, which begins a word in most models.
  if (const std::size_t blank = start.find_last_of(" \t"); blank != std::string_view::npos && blank > 0) return blank;
  return whole_characters(start);
}

FieldValues SentencePieceTokenizer::description() const {
  return {{"tokenizer", name()}, {"vocabulary", vocabulary_size()}, {"fingerprint", fingerprint(model_)}};
}

}  // namespace longspan
