// Where the steps of a tokenizer allow a text to be cut.
#pragma once

#include "longspan/text/subword/added_tokens.h"
#include "longspan/text/subword/subword_tokenizer.h"

namespace longspan {

/// The places at which a word surely ends and no step looks across; `raw` and `normalized` find the added tokens.
CutPlaces cuts_of(const SubwordParts& parts, const AddedTokenFinder& raw, const AddedTokenFinder& normalized);

}  // namespace longspan
