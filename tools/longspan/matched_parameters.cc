#include "matched_parameters.h"

#include <algorithm>
#include <cmath>

#include "longspan/models/language_model.h"

namespace longspan::tool {

int64_t count_parameters(const models::ModelConfig& config) { return models::LanguageModel(config).parameter_count(); }

int64_t matching_feed_forward(models::ModelConfig config, int64_t parameters) {
  const int64_t at_config = count_parameters(config);
  ++config.feed_forward;
  const int64_t per_unit = count_parameters(config) - at_config;
  const int64_t change = std::llround(static_cast<double>(parameters - at_config) / static_cast<double>(per_unit));
  return std::max<int64_t>(config.feed_forward - 1 + change, 1);
}

}  // namespace longspan::tool
