// Drawing text from a language model, one token at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "longspan/base/fields.h"
#include "longspan/models/language_model.h"
#include "longspan/models/sampling.h"
#include "longspan/models/session.h"

namespace longspan::models {

struct GenerateOptions : SamplingOptions {
  int64_t tokens = 256;  ///< how many to draw
};

const FieldTable<GenerateOptions>& generate_fields();

/// Called with every token drawn; false ends the text.
using TokenCallback = std::function<bool(int64_t token)>;

/// Goes on with the stream of `session` (at least one token), which has the drawn tokens afterwards. Returns them.
/// Drawing 2 n tokens equals drawing n twice, also with the session saved and loaded between, bit for bit. Memory and
/// time per token are those of the state.
std::vector<int64_t> generate(LanguageModel& model, Session& session, const GenerateOptions& options,
                              const TokenCallback& on_token = {});

/// Reads `prompt` (at least one token) at parallel speed, then draws.
std::vector<int64_t> generate(LanguageModel& model, const std::vector<int64_t>& prompt, const GenerateOptions& options,
                              const TokenCallback& on_token = {});

}  // namespace longspan::models
