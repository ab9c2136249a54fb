// Encodes texts for a test in another language: `tokenizer_ids TOKENIZER [special|ends|text]`. stdin: per text its size
// as a uint32 and its bytes. stdout: per text the count of its tokens and the tokens, all uint32; with `text` instead
// what the tokens decode to, as size and bytes; with `ends` where each ends in the text, in bytes. A refused text is
// the count 2^32 - 1.
#include <cstdint>
#include <cstdio>
#include <exception>
#include <numeric>
#include <string>
#include <vector>

#include "longspan/base/check.h"
#include "longspan/data/tokenizer_file.h"
#include "longspan/text/subword/subword_tokenizer.h"

namespace {

void put(const void* bytes, std::size_t size) {
  if (size > 0) std::fwrite(bytes, 1, size, stdout);
}
void put(uint32_t number) { put(&number, sizeof(number)); }

}  // namespace

int main(int argc, char** argv) {
  try {
    const auto tokenizer = longspan::open_tokenizer(argc > 1 ? argv[1] : "");
    const std::string mode = argc > 2 ? argv[2] : "";
    for (uint32_t size = 0; std::fread(&size, sizeof(size), 1, stdin) == 1;) {
      std::string text(size, '\0');
      if (std::fread(text.data(), 1, size, stdin) != size) return 1;
      try {
        const auto* subword = dynamic_cast<const longspan::SubwordTokenizer*>(tokenizer.get());
        auto tokens = mode == "special" && subword ? subword->encode_special(text).tokens : tokenizer->encode(text);
        if (mode == "ends") {
          tokens = tokenizer->encode_aligned(text).source_bytes;
          std::partial_sum(tokens.begin(), tokens.end(), tokens.begin());
        }
        const std::string back = mode == "text" ? tokenizer->decode(tokens) : "";
        put(static_cast<uint32_t>(mode == "text" ? back.size() : tokens.size()));
        if (mode == "text")
          put(back.data(), back.size());
        else
          put(tokens.data(), tokens.size() * sizeof(uint32_t));
      } catch (const longspan::InputError&) {
        put(UINT32_MAX);
      }
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
