// A tokenizer's file and a text: a line with the kind of the file ("json", "ranks", "merges"), a line "=", the file (of
// merges two of them), a line "=", the text.
#include "fuzz/fuzz.h"
#include "longspan/base/check.h"
#include "longspan/text/pieces.h"
#include "longspan/text/subword/tokenizer_json.h"
#include "longspan/text/subword/vocabulary_files.h"

namespace longspan::fuzz {
namespace {

std::unique_ptr<SubwordTokenizer> read(std::string_view kind, const std::vector<std::string_view>& parts) {
  if (kind == "ranks") return read_ranks(parts[1], known_ranks()[0], "input");
  if (kind == "merges") return read_merges(parts[1], parts[2], "input");
  return read_tokenizer_json(std::string(parts[1]), "input");
}

/// Bytes behind tokens add up, tokens are in the vocabulary and have a text, and what was made of the file reads again.
void check_accepted(const SubwordTokenizer& tokenizer, std::string_view text, bool ranks) {
  const Encoding encoding = tokenizer.encode_aligned(text);
  FUZZ_CHECK(tokenizer.encode(text) == encoding.tokens);
  FUZZ_CHECK(encoding.tokens.size() == encoding.source_bytes.size());
  std::size_t bytes = 0;
  for (const uint32_t size : encoding.source_bytes) bytes += size;
  FUZZ_CHECK(encoding.tokens.empty() || bytes == text.size());
  for (const uint32_t token : encoding.tokens) FUZZ_CHECK(token < tokenizer.vocabulary_size());
  tokenizer.decode(encoding.tokens);
  if (ranks) FUZZ_CHECK(tokenizer.decode(encoding.tokens) == text);  // every byte has a rank, and nothing changes text
  const auto again =
      ranks ? read_ranks_file(tokenizer.model(), "again") : read_tokenizer_json(tokenizer.model(), "again");
  FUZZ_CHECK(again->description() == tokenizer.description());
  FUZZ_CHECK(again->encode(text) == encoding.tokens);
  tokenizer.encode_special(text, text);
  Pieces pieces(tokenizer);
  std::size_t taken = 0;
  for (std::size_t at = 0; at < text.size(); at += 3) {
    pieces.push(text.substr(at, 3));
    for (std::string_view piece; pieces.next(piece);) taken += piece.size();
  }
  pieces.finish();
  for (std::string_view piece; pieces.next(piece);) taken += piece.size();
  FUZZ_CHECK(taken == text.size());
}

}  // namespace
}  // namespace longspan::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace longspan;
  const std::string_view input = fuzz::text_of(data, size);
  const std::string_view kind = input.substr(0, std::min(input.find('\n'), input.size()));
  const auto parts = fuzz::pieces(input, kind == "merges" ? 4 : 3);
  try {
    fuzz::check_accepted(*fuzz::read(kind, parts), parts.back(), kind == "ranks");
  } catch (const InputError&) {
  } catch (const RunError&) {  // a pattern that steps back without end
  }
  return 0;
}
