// Looks into a LAVO model while it reads.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lavo_view.h"
#include "longspan/models/language_model.h"
#include "longspan/text/tokenizer.h"

namespace longspan::tool {

/// Positions that are shown at most: everything of each is kept, for every slot and every neighbour in its window.
inline constexpr int64_t kMostInspected = 4096;

/// Copies tokens [begin, begin + count) of a text to `out`.
using ReadTokens = std::function<void(int64_t* out, int64_t begin, int64_t count)>;

/// Every layer at positions [from, from + positions) of a text. What lies before is read piece by piece: memory does
/// not grow with `from`. `on_piece` is told the tokens read. InputError for a model that has no memory.
std::vector<LayerView> look_at(models::LanguageModel& model, int64_t from, int64_t positions, const ReadTokens& read,
                               const std::function<void(int64_t done)>& on_piece = {});

/// The character that begins at each token; "" for a token within one.
std::vector<std::string> labels_of(const Tokenizer& tokenizer, const std::vector<uint32_t>& tokens);

}  // namespace longspan::tool
