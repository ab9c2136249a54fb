#include "sample_text.h"

#include <algorithm>
#include <vector>

#include "interrupt.h"
#include "longspan/models/generate.h"
#include "timing.h"

namespace longspan::tool {

SampleText sample_text(models::LanguageModel& model, const TokenFile& tokens, const Tokenizer& tokenizer, int64_t count,
                       double seconds) {
  // Prompt and text fit into learned positions.
  const bool learned = model.config().positions == models::Positions::learned;
  const int64_t room = learned ? std::min(count, model.config().max_positions / 2) : count;
  std::vector<int64_t> prompt(static_cast<std::size_t>(std::min(std::max<int64_t>(room, 1), tokens.size())));
  tokens.copy_to(prompt.data(), 0, static_cast<int64_t>(prompt.size()));
  models::GenerateOptions options;
  options.tokens = room;
  options.temperature = kSampleTemperature;
  const auto text = [&](const std::vector<int64_t>& ids) {
    return tokenizer.decode(std::vector<uint32_t>(ids.begin(), ids.end()));
  };
  const double end = now() + seconds;
  const auto go_on = [&](int64_t) { return !interrupt_requested() && now() < end; };
  return {text(prompt), text(models::generate(model, prompt, options, go_on))};
}

}  // namespace longspan::tool
