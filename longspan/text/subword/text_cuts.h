// Where a text is cut into pieces.
#pragma once

#include <cstddef>
#include <string_view>

#include "longspan/text/subword/aligned_text.h"

namespace longspan {

/// Tokenizer::piece_end() for a tokenizer that may be cut at `places`: the last place within 64 KiB, else the first one
/// behind them; at punctuation alone where 64 KiB have no other place. Where there is none within kLongestPiece the
/// text is cut all the same: before its last blank there, else between two characters.
std::size_t cut_text(std::string_view text, bool last, CutPlaces places);

/// Whether CutPlaces::at_punctuation has the place `at`, which is neither the beginning nor the end of `text`.
bool ends_word(std::string_view text, std::size_t at);

}  // namespace longspan
