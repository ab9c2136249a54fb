// The tokenizer in a folder of a model or a dataset.
#pragma once

#include <memory>
#include <string>

#include "longspan/text/tokenizer.h"

namespace longspan {

/// A tokenizer that its description makes, or one of the library `tokenizers`, or of ranks.
inline constexpr const char* kTokenizerFile = "tokenizer.json";
/// A SentencePiece model, as it is.
inline constexpr const char* kModelFile = "tokenizer.model";
/// The two files of GPT-2 and RoBERTa, which are read and never written.
inline constexpr const char* kVocabularyFile = "vocab.json";
inline constexpr const char* kMergesFile = "merges.txt";

/// Writes the one of the two files that the tokenizer needs, atomically, and takes the other one away.
void save_tokenizer(const std::string& folder, const Tokenizer& tokenizer);

/// Reads it. Throws InputError when both files are missing or both are there, and for one that is damaged.
std::unique_ptr<Tokenizer> load_tokenizer(const std::string& folder);

/// The tokenizer that a command line names: "bytes"; a folder with a tokenizer; a `tokenizer.json` (any name that ends
/// in .json); vocab.json or merges.txt, with the other one beside it; a file that ends in .tiktoken
/// (text/subword/vocabulary_files.h); any other file is a SentencePiece model. Throws InputError.
std::unique_ptr<Tokenizer> open_tokenizer(const std::string& name);

}  // namespace longspan
