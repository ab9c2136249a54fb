#include "longspan/report/options_table.h"

#include <algorithm>

namespace longspan::report {

namespace {

using Rows = std::vector<std::pair<std::string, std::string>>;

void flatten(const Json& json, const std::string& path, Rows& rows) {
  if (json.is_object() && !json.empty()) {
    for (const auto& [name, value] : json.items()) flatten(value, path.empty() ? name : path + "." + name, rows);
    return;
  }
  rows.emplace_back(path, json.is_string() ? json.get<std::string>() : json.dump());
}

}  // namespace

Table options_table(const std::vector<std::pair<std::string, Json>>& configurations) {
  Table table;
  table.columns = {{"option"}};
  std::vector<Rows> columns;
  std::vector<std::string> names;
  for (const auto& [title, json] : configurations) {
    table.columns.push_back({title});
    flatten(json, "", columns.emplace_back());
    auto place = names.begin();  // a name that only this one has goes behind the one before it
    for (const auto& row : columns.back()) {
      const auto known = std::find(names.begin(), names.end(), row.first);
      place = (known == names.end() ? names.insert(place, row.first) : known) + 1;
    }
  }
  for (const std::string& name : names) {
    std::vector<std::string> row = {name};
    for (const Rows& column : columns) {
      const auto found = std::find_if(column.begin(), column.end(), [&](const auto& r) { return r.first == name; });
      row.push_back(found == column.end() ? "-" : found->second);
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace longspan::report
