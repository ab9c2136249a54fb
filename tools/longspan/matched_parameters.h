// Models of different attentions with as many parameters as each other.
#pragma once

#include <cstdint>

#include "longspan/models/config.h"

namespace longspan::tool {

/// Numbers in all parameters of a model with this configuration.
int64_t count_parameters(const models::ModelConfig& config);

/// The inner width of the feed-forward part with which `config` has as nearly `parameters` as possible, at least 1.
int64_t matching_feed_forward(models::ModelConfig config, int64_t parameters);

}  // namespace longspan::tool
