#include "settings.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "longspan/base/in_quotes.h"

namespace longspan::tool {

namespace {

std::pair<std::string, std::string> split_assignment(const std::string& assignment) {
  const auto at = assignment.find('=');
  LONGSPAN_CHECK(at != std::string::npos && at > 0, "--set: expected name=value, got ", in_quotes(assignment));
  return {assignment.substr(0, at), assignment.substr(at + 1)};
}

/// JSON holds UTF-8 alone: bytes that are none would be found when the configuration is saved, which is too late.
void check_utf8(const std::string& assignment) {
  try {
    Json(assignment).dump();
  } catch (const Json::type_error&) {
    throw InputError(str_cat("--set: ", in_quotes(assignment), " is not valid UTF-8"));
  }
}

/// Numbers stay text, which the table of the field converts: an error then shows what was written.
Json value_of(const std::string& path, const std::string& text) {
  if (!Json::accept(text)) return text;
  Json value = parse_json(text, "--set " + path);  // strict, where accept() is not
  return value.is_number() ? Json(text) : value;
}

}  // namespace

FieldValues parse_settings(const std::vector<std::string>& assignments) {
  FieldValues values;
  for (const std::string& assignment : assignments) {
    auto [name, value] = split_assignment(assignment);
    values[name] = value == "null" ? FieldValue() : FieldValue(std::move(value));
  }
  return values;
}

void apply_setting(Json& config, const std::string& assignment) {
  check_utf8(assignment);
  const auto [path, text] = split_assignment(assignment);
  Json value = value_of(path, text);
  Json* at = &config;
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = path.find('.', begin);
    const std::string name = path.substr(begin, end - begin);
    LONGSPAN_CHECK(!name.empty(), "--set: empty name in '", path, "'");
    LONGSPAN_CHECK(at->is_object() || at->is_null(), "--set: '", path.substr(0, begin - 1),
                   "' is a value, not a group of fields");
    at = &(*at)[name];
    if (end == std::string::npos) break;
    begin = end + 1;
  }
  *at = std::move(value);
}

std::vector<std::string> parse_names(const std::string& flag, const std::string& text) {
  std::vector<std::string> names;
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = text.find(',', begin);
    names.push_back(text.substr(begin, end - begin));
    LONGSPAN_CHECK(!names.back().empty(), flag, ": expected names with commas between, got '", text, "'");
    if (end == std::string::npos) return names;
    begin = end + 1;
  }
}

std::vector<int64_t> parse_lengths(const std::string& flag, const std::string& text) {
  std::vector<int64_t> lengths;
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    int64_t value = 0;
    const auto result = std::from_chars(text.data() + begin, text.data() + end, value);
    LONGSPAN_CHECK(result.ec == std::errc() && result.ptr == text.data() + end && value >= 1, flag,
                   ": expected positive integers with commas between, got ", in_quotes(text));
    LONGSPAN_CHECK(std::find(lengths.begin(), lengths.end(), value) == lengths.end(), flag,
                   ": expected each number once, got ", value, " twice");
    lengths.push_back(value);
    if (end == text.size()) return lengths;
    begin = end + 1;
  }
}

}  // namespace longspan::tool
