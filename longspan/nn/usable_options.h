// Options that a pattern has no use for: an error when set, null in a saved configuration.
#pragma once

#include <string>
#include <vector>

#include "longspan/base/fields.h"
#include "longspan/nn/attention.h"

namespace longspan::nn {

/// Throws InputError when one of `unused` is set in `given` (null counts as not set).
void refuse_unused(const std::string& method, Pattern pattern, const std::vector<std::string>& unused,
                   const FieldValues& given);

/// `values` with null for `unused`.
FieldValues with_nulls(FieldValues values, const std::vector<std::string>& unused);

/// `values` without `unused`.
FieldValues without(FieldValues values, const std::vector<std::string>& unused);

}  // namespace longspan::nn
