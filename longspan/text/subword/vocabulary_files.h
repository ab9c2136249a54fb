// Tokenizers from the files of GPT-2 and of tiktoken.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "longspan/text/subword/split_patterns.h"
#include "longspan/text/subword/subword_tokenizer.h"

namespace longspan {

/// Byte-level BPE of `vocab.json` and `merges.txt` as GPT-2 and RoBERTa have them, with the pattern of GPT-2. Special
/// tokens are those of their own that the vocabulary has: <|endoftext|>; <s>, <pad>, </s>, <unk> and <mask>, which
/// takes the blank before it, and then encode_special() is RoBERTa's. Becomes a `tokenizer.json`. Throws InputError
/// "<origin>: ...".
std::unique_ptr<SubwordTokenizer> read_merges(std::string_view vocabulary, std::string_view merges,
                                              std::string_view origin);

/// BPE by ranks: lines of a token in base64, a blank, its rank. `known` says what the file does not. Throws InputError
/// "<origin>:<line>: ...".
std::unique_ptr<SubwordTokenizer> read_ranks(std::string_view content, const KnownRanks& known,
                                             std::string_view origin);

/// The tokenizer that a file of ranks belongs to: by its name, which has one of "gpt2", "cl100k", "o200k" in it, else
/// by the number of its ranks. Throws InputError when neither tells.
const KnownRanks& known_ranks_of(std::string_view path, std::string_view content);

/// The `tokenizer.json` that read_ranks() makes: an object with `ranks`, which is not one of the library `tokenizers`.
bool is_ranks_file(std::string_view json);
std::unique_ptr<SubwordTokenizer> read_ranks_file(std::string_view json, std::string_view origin);

}  // namespace longspan
