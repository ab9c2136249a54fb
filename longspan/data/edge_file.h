// Pairs of one's own for a sparse pattern, from a file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "longspan/patterns/edges.h"

namespace longspan {

/// Reads a set of pairs (query, key):
/// - from a name that ends with ".safetensors": compressed rows, the tensors `row_ptr` [N + 1] and `col` [E], or
///   `crow_indices` and `col_indices` as PyTorch calls them, or `indptr` and `indices` as SciPy does; int32 or int64;
/// - from any other: text with one pair in each line (patterns::parse_edges).
/// Without `n` the file says how many tokens there are: its rows, or the largest number of the text and one. Throws
/// InputError that names the file, and the line or entry, and what is wrong there.
patterns::EdgeList read_edges(const std::string& path, std::optional<int64_t> n = std::nullopt);

}  // namespace longspan
