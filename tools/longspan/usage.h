// One line about a command line that does not parse.
#pragma once

#include <string>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace longspan::tool {

/// The parser that was reading last: the chosen subcommand, or the program itself.
const CLI::App& innermost(const CLI::App& app);

/// What is wrong, the nearest known name where one is unknown, and where the help is: "... (see longspan inspect lavo
/// --help)".
std::string usage_error(const CLI::App& program, const CLI::ParseError& error);

/// `line` with " (see longspan inspect lavo --help)" for the parser `app`.
std::string with_help(const std::string& line, const CLI::App& app);

}  // namespace longspan::tool
