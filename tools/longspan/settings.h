// Values given on the command line as name=value.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "longspan/base/fields.h"
#include "output.h"

namespace longspan::tool {

/// {"r=64", "combine=mean"} as option values (text; the option table converts and checks them). "null" means: the
/// default. Throws InputError for an entry without '='.
FieldValues parse_settings(const std::vector<std::string>& assignments);

/// Sets config["a"]["b"]["c"] = value for "a.b.c=value"; the value is JSON where it parses as such (64, true, 0.1,
/// null), else text. Objects on the way are made if missing: whether a name exists is for the reader of the
/// configuration to say.
void apply_setting(Json& config, const std::string& assignment);

/// "1024,65536" -> {1024, 65536}. Throws InputError naming `flag` for what is not a list of positive integers.
std::vector<int64_t> parse_lengths(const std::string& flag, const std::string& text);

/// "a,b" -> {"a", "b"}; InputError naming `flag` for an empty entry.
std::vector<std::string> parse_names(const std::string& flag, const std::string& text);

}  // namespace longspan::tool
