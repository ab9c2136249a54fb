// JSON files: strict loading with positions in messages, atomic saving, and the way between JSON and option fields.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "longspan/base/fields.h"

namespace longspan {

/// Objects keep the order in which their keys were written.
using Json = nlohmann::ordered_json;

/// Parses `text`, which begins on line `first_line` of `origin`. Throws InputError "<origin>:<line>:<column>: ..." for
/// bad syntax, bad UTF-8, a key that stands twice in one object, or nesting deeper than 64.
Json parse_json(std::string_view text, std::string_view origin, int64_t first_line = 1);

/// parse_json of a file. Throws InputError when it cannot be read.
Json load_json(const std::string& path);

/// Writes `json`, indented by 2, with a final line break, through AtomicFile.
void save_json(const std::string& path, const Json& json);

/// A flat object as field values. Throws InputError "<owner>: ..." for anything but an object of null, booleans,
/// numbers within int64 or double, and text.
FieldValues to_field_values(const Json& object, std::string_view owner);

/// Throws InputError for a number that is not finite: JSON has none.
Json to_json(const FieldValue& value);
/// An object in the order of the map (by name).
Json to_json(const FieldValues& values);

}  // namespace longspan
