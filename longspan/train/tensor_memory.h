// What the tensors of a computation hold.
#pragma once

#include <cstdint>
#include <memory>

namespace longspan::train {

/// Counts, while it lives, the bytes of CPU tensors that this thread allocates and that are freed on it. One at a time
/// on a thread; not together with torch's profiler.
class TensorMemory {
 public:
  TensorMemory();
  ~TensorMemory();
  TensorMemory(const TensorMemory&) = delete;
  TensorMemory& operator=(const TensorMemory&) = delete;

  int64_t held() const;     ///< bytes now
  int64_t peak() const;     ///< the most at any moment
  int64_t largest() const;  ///< of one tensor

 private:
  struct Guard;
  std::unique_ptr<Guard> guard_;
};

/// The most memory that this process has had resident, in bytes, files it maps included; 0 where that is not known. The
/// system's own count for this program (VmHWM): getrusage() would count what the shell that started it had.
int64_t peak_resident_bytes();

}  // namespace longspan::train
