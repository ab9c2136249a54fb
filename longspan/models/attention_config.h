// What the configurations of models share: a table of fields, and the options of an attention beside it.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "longspan/base/fields.h"
#include "longspan/io/json.h"

namespace longspan::models {

inline constexpr double kManyRows = 1 << 24;  ///< most rows of a table of tokens or of positions

/// The options of the registered attention `attention` as checked values, without those that are null or at their
/// default. InputError for an unknown attention or option and for a value out of range.
FieldValues changed_options(const std::string& attention, const FieldValues& options);

/// Every field of the table; of the attention's options, under "attention_options" behind "attention", those that are
/// set.
template <class Config>
Json attention_config_json(const FieldTable<Config>& table, const Config& config) {
  Json json = Json::object();
  const FieldValues values = table.values(config);
  for (const auto& info : table.infos()) {  // in the order of the table, not of the alphabet
    json[info.name] = longspan::to_json(values.at(info.name));
    if (info.name == "attention") json["attention_options"] = longspan::to_json(config.attention_options);
  }
  return json;
}

/// Sets the fields named in `json` (and those inside its "attention_options") and leaves the rest as it is; when the
/// attention's name changes, the options of the old one are dropped. An unknown field is an InputError with the nearest
/// known name.
template <class Config>
void merge_attention_config(const FieldTable<Config>& table, Config& config, const Json& json) {
  const std::string& owner = table.owner();
  LONGSPAN_CHECK(json.is_object(), owner, ": the configuration must be an object, got ", json.type_name());
  std::vector<std::string> known;
  for (const auto& info : table.infos()) known.push_back(info.name);
  known.emplace_back("attention_options");
  for (const auto& [name, value] : json.items())
    if (std::find(known.begin(), known.end(), name) == known.end()) internal::unknown_field(owner, name, known);
  Json plain = json;
  plain.erase("attention_options");
  const std::string before = config.attention;
  table.apply(config, to_field_values(plain, owner));
  if (config.attention != before) config.attention_options.clear();
  if (const auto options = json.find("attention_options"); options != json.end() && !options->is_null()) {
    for (const auto& [name, value] : to_field_values(*options, owner + ".attention_options"))
      config.attention_options[name] = value;
  }
}

}  // namespace longspan::models
