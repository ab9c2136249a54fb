// Sampling text from a language model, one token at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "longspan/base/fields.h"
#include "longspan/models/language_model.h"

namespace longspan::models {

struct GenerateOptions {
  int64_t tokens = 256;    ///< how many to draw
  double temperature = 1;  ///< 0: greedy, the most likely token (the lowest id among equals)
  int64_t top_k = 0;       ///< keep the k most likely, 0 = all
  double top_p = 1;        ///< keep the smallest set of most likely tokens with at least this probability
  int64_t seed = 0;        ///< equal seeds give equal text on one machine
};

const FieldTable<GenerateOptions>& generate_fields();

/// Called with every token drawn; false ends the text.
using TokenCallback = std::function<bool(int64_t token)>;

/// Reads `prompt` (at least one token) at parallel speed, then draws. Returns the tokens drawn. Memory is that of the
/// state.
std::vector<int64_t> generate(LanguageModel& model, const std::vector<int64_t>& prompt, const GenerateOptions& options,
                              const TokenCallback& on_token = {});

/// Goes on from `state` (batch 1), whose last hidden state is `last` [E]; leaves the state after the last drawn token
/// but one.
std::vector<int64_t> generate(LanguageModel& model, ModelState& state, at::Tensor last, const GenerateOptions& options,
                              const TokenCallback& on_token = {});

/// One draw from logits [V]: `uniform` in [0, 1) decides. Exposed for tests.
int64_t sample(const at::Tensor& logits, const GenerateOptions& options, double uniform);

}  // namespace longspan::models
