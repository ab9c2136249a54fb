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

/// The nll of every target of spans that do not see each other, [targets], through one packed pass of the model.
/// `first_token`: the dropout's number of the first of them. `chunk`: as LanguageModel::nll has it.
at::Tensor packed_nll(models::LanguageModel& model, const TokenFile& tokens, const std::vector<Span>& spans,
                      const models::DropoutKey& dropout, int64_t chunk);

/// Tokens [begin, begin + size + 1) of `rows` rows as [rows, size + 1]; row i begins at begins[i].
at::Tensor read_rows(const TokenFile& tokens, const std::vector<int64_t>& begins, int64_t size);

}  // namespace longspan::train
