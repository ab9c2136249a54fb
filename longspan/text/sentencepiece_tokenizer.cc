#include "longspan/text/sentencepiece_tokenizer.h"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "longspan/base/check.h"
#include "longspan/text/decoder.h"
#include "longspan/text/pieces.h"
#include "longspan/text/sentencepiece_module.h"
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
  /// Throws InputError "<origin>: ..." when the library refuses the model.
  Library(const std::string& model, std::string_view origin) {
    handle = model.empty() ? nullptr : calls.load(model.data(), model.size());
    // An empty file is a model without pieces to the library; its own messages name lines of its sources.
    const bool good = handle && size() > 0;
    if (!good && handle) calls.unload(handle);
    LONGSPAN_CHECK(good, origin, ": is not a SentencePiece model, or a damaged one");
    for (int token = 0; token < size() && context < 0; ++token) {
      if (calls.is_control(handle, token) || calls.is_unknown(handle, token) || calls.is_byte(handle, token)) continue;
      const std::string text = decode({token});
      if (text.find_first_not_of(' ') == std::string::npos) continue;
      context = token;
      context_text = text;
    }
  }
  ~Library() { calls.unload(handle); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  int size() const { return calls.size(handle); }
  /// The library numbers tokens by int and checks none of them.
  bool has(uint32_t token) const { return token < static_cast<uint32_t>(size()); }

  std::string decode(const std::vector<int>& tokens) const {
    std::string out;
    calls.decode(
        handle, tokens.data(), tokens.size(),
        [](void* text, const char* bytes, std::size_t count) { static_cast<std::string*>(text)->assign(bytes, count); },
        &out);
    return out;
  }

  /// Tokens of one piece with their ends in it, never falling; the last one ends with the piece.
  std::vector<std::pair<uint32_t, uint32_t>> encode(std::string_view piece) const {
    std::vector<std::pair<uint32_t, uint32_t>> out;
    const char* complaint = calls.encode(
        handle, piece.data(), piece.size(),
        [](void* tokens, uint32_t token, uint32_t end) {
          static_cast<decltype(out)*>(tokens)->emplace_back(token, end);
        },
        &out);
    if (complaint) throw RunError(str_cat("tokenizer sentencepiece: cannot encode: ", complaint));
    for (std::size_t i = 1; i < out.size(); ++i) out[i].second = std::max(out[i].second, out[i - 1].second);
    if (!out.empty()) out.back().second = static_cast<uint32_t>(piece.size());
    return out;
  }

  const SentencePieceFunctions& calls = sentencepiece_functions();
  void* handle = nullptr;
  int context = -1;  ///< a token with text, to see what another adds after it
  std::string context_text;
};

SentencePieceTokenizer::SentencePieceTokenizer(std::string model, std::string_view origin)
    : model_(std::move(model)), library_(std::make_unique<Library>(model_, origin)) {}

SentencePieceTokenizer::~SentencePieceTokenizer() = default;

int64_t SentencePieceTokenizer::vocabulary_size() const { return library_->size(); }

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
    for (const auto& [token, end] : library_->encode(piece)) {
      out.tokens.push_back(token);
      out.source_bytes.push_back(end - begin);
      begin = end;
    }
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
  const SentencePieceFunctions& calls = library_->calls;
  const void* handle = library_->handle;
  const int id = static_cast<int>(token);
  if (calls.is_control(handle, id)) return "";
  if (calls.is_byte(handle, id)) {  // "<0x0A>"
    const std::string name = calls.piece(handle, id);
    unsigned value = 0;
    if (name.size() >= 5) std::from_chars(name.data() + 3, name.data() + 5, value, 16);
    return {static_cast<char>(value)};
  }
  if (line_start || library_->context < 0) return library_->decode({id});
  const std::string both = library_->decode({library_->context, id});
  const std::string& context = library_->context_text;
  return both.starts_with(context) ? both.substr(context.size()) : library_->decode({id});
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
