// The patterns of a call, read from their tensors, and what follows from them on the host.
#pragma once

#include <vector>

#include "longspan/ops/diffusion/dispatch.h"
#include "longspan/patterns/packed.h"

namespace longspan::ops::diffuse {

/// Whether the patterns can be read: not while a graph is traced.
bool have_values(const Patterns& patterns);

class LoadedPatterns {
 public:
  /// Reads and checks the patterns that have_values(); their tensors must live as long. Raises ValueError.
  LoadedPatterns(const char* op, const Patterns& patterns, int64_t sequences);

  int64_t count() const { return static_cast<int64_t>(packed_.size()); }
  int64_t sequences() const { return static_cast<int64_t>(of_.size()); }
  const patterns::PackedPattern& operator[](int64_t number) const { return packed_[static_cast<std::size_t>(number)]; }
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
  std::vector<patterns::PackedPattern> packed_;
  std::vector<int64_t> of_;
};

}  // namespace longspan::ops::diffuse
