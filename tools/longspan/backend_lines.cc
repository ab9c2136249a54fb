#include "backend_lines.h"

#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "log.h"
#include "longspan/base/check.h"
#include "longspan/ops/backend_log.h"

namespace longspan::tool {

namespace {

struct Lines {
  std::mutex mutex;
  std::set<std::string> shown;
};

}  // namespace

void log_backends() {
  ops::set_backend_log(
      [lines = std::make_shared<Lines>()](std::string_view op, std::string_view backend, std::string_view reason) {
        const std::string line = str_cat(op, ": ", backend, " (", reason, ")");
        const std::lock_guard<std::mutex> lock(lines->mutex);
        if (lines->shown.insert(line).second) log_info(line);
      });
}

}  // namespace longspan::tool
