#include "usage.h"

#include <CLI/CLI.hpp>
#include <cctype>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "longspan/base/check.h"
#include "longspan/base/fields.h"
#include "longspan/base/in_quotes.h"

namespace longspan::tool {

namespace {

/// "longspan inspect lavo"
std::string path_of(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name() : path_of(*app.get_parent()) + " " + app.get_name();
}

std::vector<std::string> flags_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* at = &app; at != nullptr; at = at->get_parent())
    for (const CLI::Option* option : at->get_options())
      for (const std::string& name : option->get_lnames())
        if (!option->get_group().empty()) names.push_back("--" + name);
  return names;
}

std::vector<std::string> subcommands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(sub->get_name());
  return names;
}

/// The first argument that nobody knows, with the nearest name that somebody does; "" if all were known.
std::string unknown_argument(const CLI::App& program) {
  const std::vector<std::string> left = program.remaining(true);
  if (left.empty()) return "";
  const CLI::App& inner = innermost(program);
  const std::string wrong = left.front().substr(0, left.front().find('='));
  const bool flag = wrong.rfind("-", 0) == 0;
  const std::vector<std::string> known = flag ? flags_of(inner) : subcommands_of(inner);
  const bool expects_subcommand = !flag && !known.empty();
  std::string line = str_cat(flag                 ? "unknown flag "
                             : expects_subcommand ? "unknown subcommand "
                                                  : "unexpected argument ",
                             in_quotes(wrong));
  if (const std::string near = nearest_name(wrong, known); !near.empty())
    line += "; did you mean '" + near + "'?";
  else if (expects_subcommand)
    for (const std::string& name : known) line += (name == known.front() ? "; known: " : " ") + name;
  return line;
}

/// "FLAG<middle>REST" -> {FLAG, REST}; nothing where `middle` does not occur.
std::optional<std::pair<std::string, std::string>> parted(const std::string& text, const char* middle, bool at_last) {
  const auto at = at_last ? text.rfind(middle) : text.find(middle);
  if (at == std::string::npos) return std::nullopt;
  return std::pair(text.substr(0, at), text.substr(at + std::string_view(middle).size()));
}

/// A range of fractions as the parser writes it, 0.000000 to 1.500000, without the zeros.
std::string without_zeros(std::string range) {
  for (std::size_t dot = 0; (dot = range.find('.', dot)) != std::string::npos; ++dot) {
    std::size_t end = dot + 1;
    while (end < range.size() && std::isdigit(static_cast<unsigned char>(range[end]))) ++end;
    std::size_t last = end;
    while (range[last - 1] == '0') --last;
    if (last - 1 == dot) last = dot;
    range.erase(last, end - last);
  }
  return range;
}

/// What the parser says of an argument, in the words of this program: what was expected, and what came. Other messages
/// are clear as they are.
std::string reworded(const std::string& text, const CLI::ParseError& error) {
  if (dynamic_cast<const CLI::ValidationError*>(&error)) {
    if (const auto flag = parted(text, ": Value ", false))
      if (const auto range = parted(flag->second, " not in range ", true))
        return str_cat(flag->first, ": expected a number from ", without_zeros(range->second), ", got ",
                       in_quotes(range->first));
    if (const auto flag = parted(text, ": ", false))
      if (const auto names = parted(flag->second, " not in {", true)) {
        std::string known = names->second.substr(0, names->second.rfind('}'));
        for (std::size_t at = 0; (at = known.find(',', at)) != std::string::npos; at += 2) known.replace(at, 1, ", ");
        return str_cat(flag->first, ": expected one of ", known, ", got ", in_quotes(names->first));
      }
  }
  if (dynamic_cast<const CLI::ConversionError*>(&error))
    if (const auto flag = parted(text, "Could not convert: ", false))
      if (const auto value = parted(flag->second, " = ", false))
        return str_cat(value->first, ": cannot be ", in_quotes(value->second));
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error)) {
    if (const auto flag = parted(text, ": At Most ", false))
      if (const auto count = parted(flag->second, " but received ", true))
        return str_cat(flag->first, ": expected once, got ", count->second, " times");
    if (const auto flag = parted(text, " required ", false); flag && flag->second.ends_with(" missing"))
      return str_cat(flag->first.substr(0, flag->first.rfind(':')), ": expected a value");
  }
  if (dynamic_cast<const CLI::ExcludesError*>(&error))
    if (const auto flags = parted(text, " excludes ", false))
      return str_cat(flags->first, " and ", flags->second, " exclude each other");
  return text;
}

/// "a subcommand is required: pattern, lavo, ..."; "" when none was needed.
std::string missing_subcommand(const CLI::App& inner, const CLI::ParseError& error) {
  if (!dynamic_cast<const CLI::RequiredError*>(&error) || inner.get_require_subcommand_min() == 0) return "";
  std::string line = "a subcommand is required:";
  for (const std::string& name : subcommands_of(inner)) line += " " + name;
  return line;
}

}  // namespace

const CLI::App& innermost(const CLI::App& app) {
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
  return *at;
}

std::string with_help(const std::string& line, const CLI::App& app) {
  return str_cat(line, " (see ", path_of(app), " --help)");
}

std::string usage_error(const CLI::App& program, const CLI::ParseError& error) {
  const CLI::App& inner = innermost(program);
  std::string line = unknown_argument(program);
  if (line.empty()) line = missing_subcommand(inner, error);
  if (line.empty()) line = reworded(error.what(), error);
  return with_help(line, inner);
}

}  // namespace longspan::tool
