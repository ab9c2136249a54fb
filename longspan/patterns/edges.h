// Pairs of one's own.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace longspan::patterns {

/// A set of pairs (query, key) over N tokens: what the generator `edges` takes.
struct EdgeList {
  int64_t n = 0;                ///< N
  std::vector<uint64_t> pairs;  ///< query * 2^32 + key, ascending, each once
  int64_t duplicates = 0;       ///< how many pairs more there were in what it was made from

  /// Those of one query: the lower 32 bits are its keys.
  std::span<const uint64_t> of_query(int64_t i) const;
};

/// `queries` and `keys` of one length, in any order. Without `n` there are as many tokens as the largest number asks
/// for. Throws InputError "<origin>: ..." for a number below 0 or not below n, naming its place.
EdgeList edges_from_pairs(std::span<const int64_t> queries, std::span<const int64_t> keys, const std::string& origin,
                          std::optional<int64_t> n = std::nullopt);

/// Compressed rows: query i has keys[row_begin[i]] .. keys[row_begin[i + 1] - 1], in any order. Throws InputError
/// "<origin>: ..." unless row_begin ascends from 0 to the number of keys and every key is a token.
EdgeList edges_from_csr(std::span<const int64_t> row_begin, std::span<const int64_t> keys, const std::string& origin,
                        std::optional<int64_t> n = std::nullopt);

/// Text with one pair in each line: query and key as decimal numbers from 0, blanks, tabs or a comma between. Empty
/// lines and those that begin with '#' say nothing. Throws InputError "<origin>:<line>: ...".
EdgeList parse_edges(std::string_view text, const std::string& origin, std::optional<int64_t> n = std::nullopt);

}  // namespace longspan::patterns
