// The merge loop of BPE.
#pragma once

#include <vector>

#include "longspan/text/subword/merge_table.h"
#include "longspan/text/subword/subword_model.h"

namespace longspan {

/// Merges neighbours in `symbols` until none merge: always the pair of the lowest rank, of several the leftmost.
/// O(n^2) with a small constant for words, O(n log n) for everything longer.
void merge_symbols(const MergeTable& merges, std::vector<WordToken>& symbols);

}  // namespace longspan
