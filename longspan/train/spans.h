// Parts of a token file, cut where documents meet.
#pragma once

#include <cstdint>
#include <vector>

#include "longspan/data/document_index.h"
#include "longspan/data/token_file.h"
#include "longspan/models/language_model.h"

namespace longspan::train {

/// Tokens [begin, begin + size) are read and [begin + 1, begin + size + 1) are their targets.
struct Span {
  int64_t begin = 0;
  int64_t size = 0;  ///< at least 1
};

/// The parts of [begin, begin + size) whose tokens have their targets in their own document, in order: the last token
/// of a document predicts nothing.
std::vector<Span> within_documents(const DocumentIndex& documents, int64_t begin, int64_t size);

int64_t total_size(const std::vector<Span>& spans);

/// Spans one behind the other, none of which sees another.
struct TokenPack {
  at::Tensor inputs, targets;  ///< [1, targets]
  at::Tensor cu_seqlens;       ///< [spans + 1]
};
TokenPack read_pack(const TokenFile& tokens, const std::vector<Span>& spans);

/// The nll of every target of a pack, [targets]. `chunk`: as LanguageModel::nll has it.
at::Tensor packed_nll(models::LanguageModel& model, const TokenPack& pack, const models::DropoutKey& dropout,
                      int64_t chunk);

/// Tokens [begin, begin + size + 1) of `rows` rows as [rows, size + 1]; row i begins at begins[i].
at::Tensor read_rows(const TokenFile& tokens, const std::vector<int64_t>& begins, int64_t size);

}  // namespace longspan::train
