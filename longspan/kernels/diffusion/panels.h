// The working memory of diffusion: panels of rows over a TileLayout, and loops over units of work.
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>

#include "longspan/base/aligned.h"
#include "longspan/base/parallel.h"

namespace longspan::kernels::diffusion {

/// Columns of a chunk: that of simd/panel-inl.h.
inline constexpr int64_t kPanelColumns = 64;

/// Asks the system for pages of megabytes instead of 4 KiB in large memory: single rows are read all over it, and the
/// first touch of a page costs more than its numbers.
void ask_for_large_pages(void* data, int64_t bytes);

/// Memory that grows and is kept.
template <class T>
class Buffer {
 public:
  T* reserve(int64_t size) {
    if (size <= buffer_.size()) return buffer_.data();
    buffer_ = AlignedBuffer<T>();  // before the new one
    buffer_ = AlignedBuffer<T>(size);
    ask_for_large_pages(buffer_.data(), size * static_cast<int64_t>(sizeof(T)));
    return buffer_.data();
  }

 private:
  AlignedBuffer<T> buffer_;
};

/// Rows of a TileLayout, [chunk][row][kPanelColumns], and whether all numbers in them are finite.
template <class T>
class Panel {
 public:
  void reshape(int64_t rows, int64_t width) {
    stride_ = rows * kPanelColumns;
    width_ = width;
    data_ = buffer_.reserve((width + kPanelColumns - 1) / kPanelColumns * stride_);
    finite_.store(true, std::memory_order_relaxed);
  }
  T* row(int64_t row) const { return data_ + row * kPanelColumns; }
  int64_t stride() const { return stride_; }  ///< of chunks
  int64_t width() const { return width_; }
  bool finite() const { return finite_.load(std::memory_order_relaxed); }
  void see(bool finite) {
    if (!finite) finite_.store(false, std::memory_order_relaxed);
  }
  void set_finite() { finite_.store(true, std::memory_order_relaxed); }

 private:
  Buffer<T> buffer_;
  T* data_ = nullptr;
  int64_t stride_ = 0, width_ = 0;
  std::atomic<bool> finite_ = true;
};

/// A loop over independent units: on the calling worker alone, or on all of a Parallel.
class Loop {
 public:
  explicit Loop(int worker) : worker_(worker) {}
  explicit Loop(const Parallel& parallel) : parallel_(&parallel) {}

  /// use(index, worker) for every index in [0, count).
  template <class Use>
  void run(int64_t count, const Use& use) const {
    if (parallel_ != nullptr) return parallel_->run(count, use);
    for (int64_t index = 0; index < count; ++index) use(index, worker_);
  }

 private:
  const Parallel* parallel_ = nullptr;
  int worker_ = 0;
};

}  // namespace longspan::kernels::diffusion
