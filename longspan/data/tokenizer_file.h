// `tokenizer.json` in a folder of a model or a data set.
#pragma once

#include <memory>
#include <string>

#include "longspan/text/tokenizer.h"

namespace longspan {

inline constexpr const char* kTokenizerFile = "tokenizer.json";

/// Writes `<folder>/tokenizer.json`, atomically.
void save_tokenizer(const std::string& folder, const Tokenizer& tokenizer);

/// Reads it. Throws InputError when it is missing or does not describe a known tokenizer.
std::unique_ptr<Tokenizer> load_tokenizer(const std::string& folder);

}  // namespace longspan
