// Counts that the cost models share.
#pragma once

#include <cstdint>

namespace longspan::nn {

/// Number of (query, key) pairs of a band: queries are the last of `keys` positions, a query at p reads the keys
/// p - reach_left ... p + reach_right that exist.
double band_pairs(int64_t queries, int64_t keys, int64_t reach_left, int64_t reach_right);

/// Compulsory traffic of an attention on float32 rows of `width`: q and the output once per query, `rows_per_key` rows
/// (k and v) once per key.
double row_bytes(int64_t queries, int64_t keys, int64_t width, int64_t rows_per_key = 2);

}  // namespace longspan::nn
