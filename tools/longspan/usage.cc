#include "usage.h"

#include <CLI/CLI.hpp>
#include <vector>

#include "longspan/base/check.h"
#include "longspan/base/fields.h"

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
  std::string line = str_cat(flag                 ? "unknown flag '"
                             : expects_subcommand ? "unknown subcommand '"
                                                  : "unexpected argument '",
                             wrong, "'");
  if (const std::string near = nearest_name(wrong, known); !near.empty())
    line += "; did you mean '" + near + "'?";
  else if (expects_subcommand)
    for (const std::string& name : known) line += (name == known.front() ? "; known: " : " ") + name;
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
  const std::string line = unknown_argument(program);
  return with_help(line.empty() ? error.what() : line, innermost(program));
}

}  // namespace longspan::tool
