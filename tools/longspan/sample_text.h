// A bit of text that a model writes, to look at.
#pragma once

#include <string>

#include "longspan/data/token_file.h"
#include "longspan/models/language_model.h"
#include "longspan/text/tokenizer.h"

namespace longspan::tool {

struct SampleText {
  std::string prompt;  ///< the beginning of the tokens
  std::string text;    ///< what the model goes on with
};

/// Up to `count` tokens behind up to `count` of `tokens`, drawn at the temperature below; ends early after `seconds`
/// and on Ctrl-C.
SampleText sample_text(models::LanguageModel& model, const TokenFile& tokens, const Tokenizer& tokenizer, int64_t count,
                       double seconds);

inline constexpr double kSampleTemperature = 0.8;

}  // namespace longspan::tool
