// Scratch memory aligned for every vector width, and a test hook that poisons it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>

namespace longspan {

/// Alignment of scratch buffers: one cache line, one AVX-512 vector.
inline constexpr std::size_t kAlignment = 64;

/// When set (tests do), fresh scratch is filled with NaN, so that a read before a write shows. Off by default.
void set_poison_scratch(bool on);
bool poison_scratch();

/// An owning array of `size` uninitialised elements, aligned to kAlignment, with one vector of readable slack
/// behind its end. Movable, not copyable. Throws std::bad_alloc.
template <class T>
class AlignedBuffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  AlignedBuffer() = default;
  explicit AlignedBuffer(int64_t size) : size_(size) {
    const std::size_t bytes = static_cast<std::size_t>(size) * sizeof(T) + kAlignment;
    data_ = static_cast<T*>(::operator new(bytes, std::align_val_t(kAlignment)));
    if constexpr (std::is_floating_point_v<T>) {
      if (poison_scratch())
        for (int64_t i = 0; i < size; ++i) data_[i] = std::numeric_limits<T>::quiet_NaN();
    }
  }
  AlignedBuffer(AlignedBuffer&& other) noexcept { swap(other); }
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
    swap(other);
    return *this;
  }
  ~AlignedBuffer() {
    if (data_) ::operator delete(data_, std::align_val_t(kAlignment));
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  int64_t size() const { return size_; }
  T& operator[](int64_t i) { return data_[i]; }
  const T& operator[](int64_t i) const { return data_[i]; }

 private:
  void swap(AlignedBuffer& other) {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }
  T* data_ = nullptr;
  int64_t size_ = 0;
};

}  // namespace longspan
