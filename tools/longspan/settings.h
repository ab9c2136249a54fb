// Values given on the command line as name=value.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "longspan/base/fields.h"
#include "output.h"

namespace longspan::tool {

/// {"r=64", "combine=mean"} as option values (text; the option table converts and checks them). "null" means: the
/// default. Of two entries with one name the last counts. Throws InputError for an entry without '='.
FieldValues parse_settings(const std::vector<std::string>& assignments);

/// Sets config["a"]["b"]["c"] = value for "a.b.c=value", whatever an earlier setting put there; the value is JSON where
/// it parses as such (true, null, {"r": 8}), else text, as are numbers, for the option table to convert. Objects on the
/// way are made if missing: whether a name exists is for the reader of the configuration to say. Throws InputError for
/// a malformed path, for text that is not UTF-8, and for JSON in which a key stands twice or that nests too deeply.
void apply_setting(Json& config, const std::string& assignment);

/// "1024,65536" -> {1024, 65536}. Throws InputError naming `flag` for what is not a list of positive integers.
std::vector<int64_t> parse_lengths(const std::string& flag, const std::string& text);

/// "a,b" -> {"a", "b"}; InputError naming `flag` for an empty entry.
std::vector<std::string> parse_names(const std::string& flag, const std::string& text);

}  // namespace longspan::tool
