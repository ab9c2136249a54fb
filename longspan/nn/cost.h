// Counts that the cost models share.
#pragma once

#include <cstdint>

namespace longspan::nn {

/// Number of (query, key) pairs of a band: queries are the last of `keys` positions, a query at p reads the keys
/// p - reach_left ... p + reach_right that exist.
double band_pairs(int64_t queries, int64_t keys, int64_t reach_left, int64_t reach_right);

/// The same within blocks of `block` positions, counted from position 0; `causal`: up to the query's own.
double block_pairs(int64_t queries, int64_t keys, int64_t block, bool causal);

/// Compulsory traffic of an attention on float32 rows: q and the output of `width` once per query, `rows_per_key` rows
/// (k and v) of `key_width` once per key.
double row_bytes(int64_t queries, int64_t keys, int64_t width, int64_t key_width, int64_t rows_per_key = 2);

}  // namespace longspan::nn
