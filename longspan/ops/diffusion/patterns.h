// The patterns of a call, read from their tensors, and what follows from them on the host.
#pragma once

#include <c10/core/StorageImpl.h>
#include <c10/util/intrusive_ptr.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "longspan/kernels/diffusion/diffusion.h"
#include "longspan/ops/diffusion/dispatch.h"
#include "longspan/patterns/packed.h"

namespace longspan::ops::diffuse {

/// Whether the patterns can be read: not while a graph is traced.
bool have_values(const Patterns& patterns);

/// A pattern that was read and checked, and its layout. Its words are those of a tensor that lives as long as it is
/// used.
class LoadedPattern {
 public:
  LoadedPattern(const at::Tensor& words, const std::string& origin);

  const patterns::PackedPattern& packed() const { return packed_; }
  const kernels::DiffusionLayout& layout() const;
  /// Whether it was read from the memory of `words`, which has not changed since.
  bool is_of(const at::Tensor& words) const;
  int64_t bytes() const;

 private:
  c10::weak_intrusive_ptr<c10::StorageImpl> storage_;
  std::optional<uint64_t> sum_;
  patterns::PackedPattern packed_;
  mutable std::once_flag once_;
  mutable std::optional<kernels::DiffusionLayout> layout_;
  mutable std::atomic<int64_t> layout_bytes_{0};
};

class LoadedPatterns {
 public:
  /// Reads and checks the patterns that have_values(); their tensors must live as long. Raises ValueError. `again`:
  /// whether further calls may bring the same tensors. What was made of these is kept then (256 MiB of those used last,
  /// beside the tensors), and a call that brings one has only its check sum to read.
  LoadedPatterns(const char* op, const Patterns& patterns, int64_t sequences, bool again);

  int64_t count() const { return static_cast<int64_t>(loaded_.size()); }
  int64_t sequences() const { return static_cast<int64_t>(of_.size()); }
  const patterns::PackedPattern& operator[](int64_t number) const { return loaded(number).packed(); }
  const LoadedPattern& loaded(int64_t number) const { return *loaded_[static_cast<std::size_t>(number)]; }
  /// The number of each sequence's pattern.
  const std::vector<int64_t>& of() const { return of_; }
  const patterns::PackedPattern& of(int64_t sequence) const { return (*this)[of_[static_cast<std::size_t>(sequence)]]; }

  /// Numbers of the weights of one head of all sequences, for the queries from first_row on.
  int64_t weights(int64_t first_row = 0) const;

  /// Raises ValueError unless every sequence has as many tokens as its pattern: `tokens` each.
  void check_sizes(int64_t tokens) const;
  /// The same for sequences packed into `rows` rows by borders, whose values are compared where `cu` can be read
  /// without waiting for a device.
  void check_packing(const at::Tensor& cu, int64_t rows) const;

 private:
  const char* op_;
  std::vector<at::Tensor> words_;  // dense
  std::vector<std::shared_ptr<const LoadedPattern>> loaded_;
  std::vector<int64_t> of_;
};

}  // namespace longspan::ops::diffuse
