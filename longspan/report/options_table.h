// Configurations side by side.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "longspan/io/json.h"
#include "longspan/report/table.h"

namespace longspan::report {

/// A row for every value in any of the configurations, named by its path ("model.attention_options.r"), in the order in
/// which they first appear; a column for each configuration, "-" where it has no such value.
Table options_table(const std::vector<std::pair<std::string, Json>>& configurations);

}  // namespace longspan::report
