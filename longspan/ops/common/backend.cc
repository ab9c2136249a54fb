#include "longspan/ops/common/backend.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>

#include "longspan/base/check.h"
#include "longspan/ops/backend_log.h"
#include "longspan/ops/common/check.h"

namespace longspan::ops {
namespace {

bool has_kernel(const at::Tensor& q) {
  const auto dtype = q.scalar_type();
  return (q.is_cpu() || q.is_meta()) && (dtype == at::kFloat || dtype == at::kDouble || dtype == at::kBFloat16);
}

struct Log {
  std::atomic<bool> on{false};  // so that a call without a log takes no lock
  std::mutex mutex;
  std::shared_ptr<const BackendLog> function;

  std::shared_ptr<const BackendLog> get() {
    const std::lock_guard<std::mutex> lock(mutex);
    return function;
  }
};

Log& the_log() {
  static Log log;
  return log;
}

}  // namespace

void set_backend_log(BackendLog log) {
  Log& kept = the_log();
  const std::lock_guard<std::mutex> lock(kept.mutex);
  kept.function = log ? std::make_shared<const BackendLog>(std::move(log)) : nullptr;
  kept.on = kept.function != nullptr;
}

Backend choose_backend(const char* op, std::string_view requested, const at::Tensor& q) {
  if (requested == "auto") return has_kernel(q) ? Backend::kernel : Backend::composed;
  if (requested == "reference") return Backend::composed;
  TORCH_CHECK_VALUE(requested == "kernel", op, ": backend: expected auto, kernel or reference, got ", requested);
  TORCH_CHECK_VALUE(has_kernel(q), op, ": backend: the kernel takes float32, float64 and bfloat16 on the CPU, got ",
                    dtype_name(q), " on ", q.device());
  return Backend::kernel;
}

void report_backend(const char* op, std::string_view requested, Backend chosen, const at::Tensor& q) {
  Log& log = the_log();
  if (!log.on.load(std::memory_order_relaxed)) return;
  const std::shared_ptr<const BackendLog> function = log.get();
  if (!function) return;
  const bool kernel = chosen == Backend::kernel;
  const std::string reason = requested != "auto"
                                 ? "asked for"
                                 : str_cat(kernel ? "there is a kernel for " : "there is no kernel for ", dtype_name(q),
                                           " on ", q.device().str());
  (*function)(op, kernel ? "kernel" : "reference", reason);
}

}  // namespace longspan::ops
