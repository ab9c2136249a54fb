#include "tools/longspan/study/variant.h"

#include <algorithm>
#include <cctype>

#include "longspan/base/check.h"
#include "longspan/base/in_quotes.h"
#include "tools/longspan/settings.h"

namespace longspan::tool {

namespace {

constexpr std::size_t kLongestName = 64;

std::pair<std::string, std::string> split(const std::string& flag, const std::string& text) {
  const auto at = text.find('=');
  LONGSPAN_CHECK(at != std::string::npos && at > 0 && at + 1 < text.size(), flag,
                 flag == "--variant" ? ": expected NAME=attention,option=value,..., got "
                                     : ": expected FIELD=VALUE,VALUE,..., got ",
                 in_quotes(text));
  return {text.substr(0, at), text.substr(at + 1)};
}

bool is_name(const std::string& text) {
  return text.size() <= kLongestName && text.front() != '.' && std::all_of(text.begin(), text.end(), [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 || std::string("._+-").find(c) != std::string::npos;
         });
}

}  // namespace

StudyVariant parse_variant(const std::string& text) {
  const auto [name, rest] = split("--variant", text);
  LONGSPAN_CHECK(is_name(name), "--variant: expected a name of at most ", kLongestName,
                 " letters, digits and . _ + - that does not begin with a point, got ", in_quotes(name));
  const std::vector<std::string> parts = parse_names("--variant", rest);
  StudyVariant variant{name, parts.front(), parts.front()};
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const bool own = parts[i].starts_with("model.") || parts[i].starts_with("train.");
    LONGSPAN_CHECK(parts[i].find('=') != std::string::npos, "--variant: expected option=value, got ",
                   in_quotes(parts[i]), " in ", in_quotes(text));
    variant.settings.push_back((own ? "" : "model.attention_options.") + parts[i]);
  }
  return variant;
}

void check_names(const std::vector<StudyVariant>& variants) {
  for (std::size_t i = 0; i < variants.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      LONGSPAN_CHECK(variants[i].name != variants[j].name, "--variant: expected different names, got ",
                     in_quotes(variants[i].name), " twice");
}

StudySearch parse_search(const std::string& text) {
  const auto [field, values] = split("--search", text);
  StudySearch search{field, "", parse_names("--search", values)};
  const std::string option = "option.";
  if (field.starts_with(option))
    search.setting = "model.attention_options." + field.substr(option.size());
  else
    search.setting = field.starts_with("model.") ? field : "train." + field;
  for (const std::string& value : search.values)
    LONGSPAN_CHECK(is_name(value), "--search: expected values of letters, digits and . _ + -, got ", in_quotes(value));
  return search;
}

std::vector<SearchPoint> search_points(const std::vector<StudySearch>& searches) {
  std::vector<SearchPoint> points = {{}};
  for (const StudySearch& search : searches) {
    std::vector<SearchPoint> longer;
    for (const SearchPoint& point : points)
      for (const std::string& value : search.values) {
        SearchPoint next = point;
        next.label += str_cat(next.label.empty() ? "" : " ", search.field, "=", value);
        next.settings.push_back(search.setting + "=" + value);
        longer.push_back(std::move(next));
      }
    points = std::move(longer);
  }
  return points;
}

}  // namespace longspan::tool
