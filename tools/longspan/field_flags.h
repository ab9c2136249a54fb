// The fields of an option table as flags.
#pragma once

#include <string>
#include <vector>

#include "longspan/base/fields.h"

namespace CLI {
class App;
}

namespace longspan::tool {

/// "--learning-rate" of learning_rate.
std::string flag_of(const std::string& field);

/// Adds a flag for every field that is not among `left_out`, in a group of the help text of its own. What is given
/// lands in `values` (which outlives the parser) as text, for the table to convert and check.
void add_field_flags(CLI::App& app, const std::string& group, const std::vector<FieldInfo>& fields,
                     const std::vector<std::string>& left_out, FieldValues& values);

}  // namespace longspan::tool
