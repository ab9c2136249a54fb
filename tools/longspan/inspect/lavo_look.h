// Looks into a LAVO model while it reads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lavo_view.h"
#include "longspan/models/language_model.h"
#include "longspan/text/tokenizer.h"

namespace longspan::tool {

/// Looking is slow and takes memory for every pair of a position and a neighbour in its window.
inline constexpr int64_t kMostInspected = 4096;

/// Every layer at the last `positions` of `tokens`, the rest of which is read before. InputError for a model that has
/// no memory.
std::vector<LayerView> look_at(models::LanguageModel& model, const std::vector<int64_t>& tokens, int64_t positions);

/// The character that begins at each token; "" for a token within one.
std::vector<std::string> labels_of(const Tokenizer& tokenizer, const std::vector<uint32_t>& tokens);

}  // namespace longspan::tool
