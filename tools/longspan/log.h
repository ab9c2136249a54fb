// Lines for a person, on stderr. Compiled apart from torch, whose include folder carries an fmt of its own.
#pragma once

#include <string>

namespace longspan::tool {

/// "longspan: <line>". Line breaks inside become spaces, other control characters \xNN: one event, one line.
void log_info(const std::string& line);
void log_error(const std::string& line);

}  // namespace longspan::tool
