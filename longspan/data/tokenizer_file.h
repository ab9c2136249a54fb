// The tokenizer in a folder of a model or a dataset.
#pragma once

#include <memory>
#include <string>

#include "longspan/text/tokenizer.h"

namespace longspan {

/// A tokenizer that its description makes.
inline constexpr const char* kTokenizerFile = "tokenizer.json";
/// A SentencePiece model, as it is.
inline constexpr const char* kModelFile = "tokenizer.model";

/// Writes the one of the two files that the tokenizer needs, atomically, and takes the other one away.
void save_tokenizer(const std::string& folder, const Tokenizer& tokenizer);

/// Reads it. Throws InputError when both files are missing or both are there, and for one that is damaged.
std::unique_ptr<Tokenizer> load_tokenizer(const std::string& folder);

/// The tokenizer that a command line names: "bytes", or the path of a SentencePiece model. Throws InputError for
/// anything else.
std::unique_ptr<Tokenizer> open_tokenizer(const std::string& name);

}  // namespace longspan
