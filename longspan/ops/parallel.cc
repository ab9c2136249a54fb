// Compiled with -fopenmp, alone: at::parallel_for is an inline template that runs serially without it.
#include "longspan/ops/parallel.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>

#ifndef _OPENMP
#error "longspan/ops/parallel.cc needs -fopenmp, else every operator runs on one thread"
#endif

namespace longspan::ops {
namespace {

class TorchParallel final : public Parallel {
 public:
  int workers() const override { return at::in_parallel_region() ? 1 : std::max(1, at::get_num_threads()); }

  void run(int64_t count, const std::function<void(int64_t, int)>& task) const override {
    std::atomic<int64_t> next{0};
    std::exception_ptr error;
    std::mutex mutex;
    const auto work = [&](int worker) {
      for (int64_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) {
        try {
          task(i, worker);
        } catch (...) {
          std::lock_guard lock(mutex);
          if (!error) error = std::current_exception();
        }
      }
    };
    const int64_t wanted = std::min<int64_t>(workers(), count);
    if (wanted <= 1) {
      work(0);
    } else {
      at::parallel_for(0, wanted, 1, [&](int64_t begin, int64_t end) {
        for (int64_t worker = begin; worker < end; ++worker) work(static_cast<int>(worker));
      });
    }
    if (error) std::rethrow_exception(error);
  }
};

}  // namespace

const Parallel& torch_parallel() {
  static const TorchParallel parallel;
  return parallel;
}

}  // namespace longspan::ops
