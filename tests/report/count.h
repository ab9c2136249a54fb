// How often a text holds another.
#pragma once

#include <string>

namespace longspan::report {

inline int count(const std::string& text, const std::string& what) {
  int found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

}  // namespace longspan::report
