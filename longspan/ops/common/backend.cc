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

const char* backend_name(Backend backend) {
  switch (backend) {
    case Backend::kernel:
      return "kernel";
    case Backend::composed:
      return "composed";
    default:
      return "reference";
  }
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

Backend choose_backend(const char* op, std::string_view requested, const at::Tensor& q, std::string_view beyond) {
  if (requested == "auto") return has_kernel(q) && beyond.empty() ? Backend::kernel : Backend::composed;
  if (requested == "composed") return Backend::composed;
  if (requested == "reference") return Backend::reference;
  TORCH_CHECK_VALUE(requested == "kernel", op, ": backend: expected auto, kernel, composed or reference, got ",
                    requested);
  TORCH_CHECK_VALUE(has_kernel(q), op, ": backend: the kernel takes float32, float64 and bfloat16 on the CPU, got ",
                    dtype_name(q), " on ", q.device());
  TORCH_CHECK_VALUE(beyond.empty(), op,
                    ": backend: expected composed, reference or auto, got kernel, which does not take ", beyond);
  return Backend::kernel;
}

void report_backend(const char* op, std::string_view requested, Backend chosen, const at::Tensor& q,
                    std::string_view beyond) {
  Log& log = the_log();
  if (!log.on.load(std::memory_order_relaxed)) return;
  const std::shared_ptr<const BackendLog> function = log.get();
  if (!function) return;
  std::string reason = "asked for";
  if (requested == "auto") {
    reason = chosen == Backend::kernel ? "there is a kernel for " : "there is no kernel for ";
    reason += has_kernel(q) && !beyond.empty() ? std::string(beyond) : str_cat(dtype_name(q), " on ", q.device().str());
  }
  (*function)(op, backend_name(chosen), reason);
}

}  // namespace longspan::ops
