// The table of position scores of a sliding window (LAVO's embedded position encoding, specification A.7).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "longspan/nn/pch.h"

namespace longspan::nn {

/// How the table starts: all 0; normal with deviation 0.02; or -m_h |offset| with slopes m_h = 1, 1/2, 1/4, ... by
/// head.
enum class TableStart { zero, normal, slope };
inline const std::vector<std::pair<std::string, TableStart>> kTableStarts = {
    {"zero", TableStart::zero}, {"normal", TableStart::normal}, {"slope", TableStart::slope}};

/// [tables, 2 reach + 1] in the default dtype: entry `offset + reach` is added to the score of a key at that offset.
at::Tensor make_position_table(int64_t tables, int64_t reach, TableStart start);

}  // namespace longspan::nn
