#include "longspan/base/check.h"

namespace longspan::internal {

void assertion_failed(const char* condition, const char* file, int line, const std::string& what) {
  throw InternalError(str_cat("internal error: ", condition, " at ", file, ":", line, what.empty() ? "" : ": ", what));
}

}  // namespace longspan::internal
