// The special tokens of encoders that a tokenizer has itself.
#pragma once

#include <optional>

#include "longspan/models/encoder_config.h"
#include "longspan/text/tokenizer.h"

namespace longspan::models {

/// Those of a tokenizer whose file puts one token before a text and one behind it, as those of BERT ([CLS], [SEP]) and
/// RoBERTa (<s>, </s>), and that has tokens for padding ([PAD] or <pad>) and hidden ones ([MASK] or <mask>); between
/// two texts stand as many separators as the file puts there, where it puts nothing else. Nullopt for any other: then
/// an encoder needs tokens of its own.
std::optional<SpecialTokens> own_special_tokens(const Tokenizer& tokenizer);

}  // namespace longspan::models
