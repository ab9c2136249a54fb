// The fields of an option table, as JSON and as a table for a person.
#pragma once

#include <vector>

#include "longspan/base/fields.h"
#include "longspan/io/json.h"
#include "longspan/report/table.h"

namespace longspan::tool {

/// {"name", "kind", "default", "minimum" and "maximum" of numbers (null: none), "choices", "help"}
Json describe(const FieldInfo& field);
Json describe(const std::vector<FieldInfo>& fields);

/// A row for each field; `first` is the title of their names.
report::Table field_table(const std::vector<FieldInfo>& fields, const std::string& first);

}  // namespace longspan::tool
