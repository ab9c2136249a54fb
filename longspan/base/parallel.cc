#include "longspan/base/parallel.h"

#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "longspan/base/check.h"

namespace longspan {

void SerialParallel::run(int64_t count, const std::function<void(int64_t, int)>& task) const {
  for (int64_t i = 0; i < count; ++i) task(i, 0);
}

namespace {
thread_local bool inside_task = false;
}

struct ThreadPool::State {
  std::mutex callers;  // one run() at a time

  std::mutex mutex;
  std::condition_variable wake, finished;
  const std::function<void(int64_t, int)>* task = nullptr;
  int64_t count = 0;
  uint64_t generation = 0;
  int busy = 0;
  bool stop = false;
  std::atomic<int64_t> next{0};
  std::exception_ptr error;
  std::vector<std::thread> threads;

  void work(int worker) {
    inside_task = true;
    for (int64_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) {
      try {
        (*task)(i, worker);
      } catch (...) {
        std::lock_guard lock(mutex);
        if (!error) error = std::current_exception();
      }
    }
    inside_task = false;
  }

  void loop(int worker) {
    uint64_t seen = 0;
    std::unique_lock lock(mutex);
    for (;;) {
      wake.wait(lock, [&] { return stop || generation != seen; });
      if (stop) return;
      seen = generation;
      lock.unlock();
      work(worker);
      lock.lock();
      if (--busy == 0) finished.notify_one();
    }
  }
};

ThreadPool::ThreadPool(int threads) : state_(std::make_unique<State>()) {
  LONGSPAN_CHECK(threads >= 1, "ThreadPool: threads must be at least 1, got ", threads);
  for (int worker = 1; worker < threads; ++worker)
    state_->threads.emplace_back([state = state_.get(), worker] { state->loop(worker); });
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard lock(state_->mutex);
    state_->stop = true;
  }
  state_->wake.notify_all();
  for (auto& thread : state_->threads) thread.join();
}

int ThreadPool::workers() const { return static_cast<int>(state_->threads.size()) + 1; }

void ThreadPool::run(int64_t count, const std::function<void(int64_t, int)>& task) const {
  if (inside_task) {
    for (int64_t i = 0; i < count; ++i) task(i, 0);
    return;
  }
  State& s = *state_;
  std::lock_guard caller(s.callers);
  {
    std::lock_guard lock(s.mutex);
    s.task = &task;
    s.count = count;
    s.next = 0;
    s.error = nullptr;
    s.busy = static_cast<int>(s.threads.size());
    ++s.generation;
  }
  s.wake.notify_all();
  s.work(0);
  std::unique_lock lock(s.mutex);
  s.finished.wait(lock, [&] { return s.busy == 0; });
  if (s.error) std::rethrow_exception(s.error);
}

}  // namespace longspan
