// torch's messages, made fit for a person.
#pragma once

#include <string>

#include "errors.h"

namespace longspan::tool {

struct Reported {
  std::string line;
  ExitStatus status = exit_failed;
};

/// The first line of `text`, a message of torch, without the place in torch's sources and the condition that failed
/// there ("[enforce fail at file:line] condition. "). Memory that the machine has not got (status 1) and sizes beyond
/// what a tensor can have (2) get lines of our own.
Reported report_torch_error(const std::string& text);

}  // namespace longspan::tool
