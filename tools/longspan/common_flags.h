// The common flags at the parsers of the subcommands.
#pragma once

#include <string>

#include "command.h"

namespace longspan::tool {

/// Adds every common flag to `app`, so that it may stand behind its name; --help shows those among `shown`.
void add_common_flags(CLI::App& app, CommonOptions& common, unsigned shown);

/// The first common flag on the way from the program to the chosen subcommand `app` that was given and is not among
/// `used`, as "--dtype"; "" when there is none.
std::string unused_common_flag(const CLI::App& app, unsigned used);

/// Refuses "" as the value of any flag or argument of `app`: a name that a script left empty is no name.
void refuse_empty_values(CLI::App& app);

}  // namespace longspan::tool
