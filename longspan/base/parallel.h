// The parallel-for interface through which every kernel runs.
//
// Kernels cut their work into tasks at absolute positions and never look at the number of workers, so that
// results are bit-identical for any thread count. Under PyTorch the implementation is torch's own pool
// (longspan/ops/parallel.h); SerialParallel and ThreadPool below serve programs and tests without torch.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace longspan {

/// Runs independent tasks, on several threads where the implementation has them.
class Parallel {
 public:
  virtual ~Parallel() = default;

  /// Upper bound of the `worker` argument below, at least 1.
  virtual int workers() const = 0;

  /// Calls `task(index, worker)` once for every index in [0, count), 0 <= worker < workers(), in any order; no two
  /// calls that run at the same time have the same worker, so per-worker scratch needs no lock. Returns when all are
  /// done. When a task throws, tasks that have not begun may be left out; once none runs any more, the exception that
  /// came first is rethrown here.
  virtual void run(int64_t count, const std::function<void(int64_t index, int worker)>& task) const = 0;
};

/// Everything on the calling thread.
class SerialParallel final : public Parallel {
 public:
  int workers() const override { return 1; }
  void run(int64_t count, const std::function<void(int64_t, int)>& task) const override;
};

/// A pool of `threads` std::threads (the caller is one of them), with dynamic assignment of tasks. Calls from
/// several threads at once are served one after the other; a call from inside a task runs serially.
class ThreadPool final : public Parallel {
 public:
  explicit ThreadPool(int threads);
  ~ThreadPool() override;
  int workers() const override;
  void run(int64_t count, const std::function<void(int64_t, int)>& task) const override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace longspan
