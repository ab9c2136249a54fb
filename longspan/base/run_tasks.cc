#include "longspan/base/run_tasks.h"

namespace longspan {
namespace {

// Below this the threads' wake-up costs more than they save.
constexpr double kSerialFlops = 1e6;

}  // namespace

void run_tasks(const Parallel& parallel, int64_t count, double flops, const std::function<void(int64_t, int)>& task) {
  if (flops < kSerialFlops || parallel.workers() == 1)
    for (int64_t i = 0; i < count; ++i) task(i, 0);
  else
    parallel.run(count, task);
}

}  // namespace longspan
