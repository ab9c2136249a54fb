// How fast a tokenizer encodes a text: `bench_tokenizer TOKENIZER TEXT [ROUNDS]` prints one JSON object for the first
// pass, which fills the cache of words, then for one thread and for two, the median of ROUNDS (default 5) each. MB are
// 10^6 bytes.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "longspan/base/parallel.h"
#include "longspan/data/tokenizer_file.h"
#include "longspan/io/mapped_file.h"
#include "longspan/text/pieces.h"

namespace {

using namespace longspan;

/// Encodes the pieces of `text`, side by side; returns seconds and counts tokens.
double encode(const Tokenizer& tokenizer, const std::vector<std::string_view>& pieces, const Parallel& parallel,
              std::size_t& tokens) {
  std::vector<std::size_t> counts(pieces.size());
  const auto begin = std::chrono::steady_clock::now();
  parallel.run(static_cast<int64_t>(pieces.size()), [&](int64_t i, int) {
    const auto at = static_cast<std::size_t>(i);
    counts[at] = tokenizer.encode(pieces[at]).size();
  });
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  tokens = 0;
  for (const std::size_t count : counts) tokens += count;
  return seconds.count();
}

void print(const char* what, int threads, std::size_t bytes, std::size_t tokens, double seconds) {
  std::printf("{\"pass\": \"%s\", \"threads\": %d, \"bytes\": %zu, \"tokens\": %zu, \"mb_per_second\": %.2f}\n", what,
              threads, bytes, tokens, static_cast<double>(bytes) / seconds / 1e6);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: bench_tokenizer TOKENIZER TEXT [ROUNDS]\n");
    return 2;
  }
  try {
    const auto tokenizer = open_tokenizer(argv[1]);
    const MappedFile file(argv[2]);
    const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
    const int rounds = argc > 3 ? std::max(1, std::stoi(argv[3])) : 5;
    std::vector<std::string_view> pieces;
    for (std::size_t at = 0; at < text.size(); at += pieces.back().size())
      pieces.push_back(text.substr(at, tokenizer->piece_end(text.substr(at), true)));
    std::size_t tokens = 0;
    const double first = encode(*tokenizer, pieces, SerialParallel(), tokens);
    print("first", 1, text.size(), tokens, first);
    for (const int threads : {1, 2}) {
      const ThreadPool pool(threads);
      encode(*tokenizer, pieces, pool, tokens);  // every thread's own words
      std::vector<double> seconds;
      for (int round = 0; round < rounds; ++round) seconds.push_back(encode(*tokenizer, pieces, pool, tokens));
      std::nth_element(seconds.begin(), seconds.begin() + rounds / 2, seconds.end());
      print("warm", threads, text.size(), tokens, seconds[static_cast<std::size_t>(rounds / 2)]);
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_tokenizer: %s\n", error.what());
    return 1;
  }
}
