// The tokens of `recall` as words, so that its models read and write text like others.
#pragma once

#include <memory>

#include "longspan/data/recall.h"
#include "longspan/text/tokenizer.h"

namespace longspan {

/// Words as recall_word() has them, with blanks between: "k5 v17 f3 f40 k5". Any other word is a filler, f0. Saved as
/// a tokenizer.json of WordPiece that the library `tokenizers` reads too. `options`: resolved().
std::unique_ptr<Tokenizer> recall_tokenizer(const RecallOptions& options);

}  // namespace longspan
