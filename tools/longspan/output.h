// Results on stdout: JSON Lines or plain text. Each call writes whole lines and flushes them; a stdout that cannot be
// written to is a RunError.
#pragma once

#include <string>

#include "longspan/io/json.h"

namespace longspan::tool {

void print_json(const Json& object);
void print_text(const std::string& text);

}  // namespace longspan::tool
