#include "output.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "longspan/base/check.h"

namespace longspan::tool {

void print_text(const std::string& text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (!written && errno == EPIPE) throw OutputClosed();
  if (!written) throw RunError(str_cat("cannot write to stdout: ", std::strerror(errno)));
}

void print_json(const Json& object) { print_text(object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"); }

}  // namespace longspan::tool
