// Results on stdout: JSON Lines or plain text. Each call writes whole lines and flushes them; a stdout that cannot be
// written to is a RunError, one that nobody reads any more (`| head`) an OutputClosed.
#pragma once

#include <exception>
#include <string>

#include "longspan/io/json.h"

namespace longspan::tool {

/// Ends a subcommand without a word, as a closed pipe ends other programs.
class OutputClosed : public std::exception {
 public:
  const char* what() const noexcept override { return "stdout is closed"; }
};

void print_json(const Json& object);
void print_text(const std::string& text);

}  // namespace longspan::tool
