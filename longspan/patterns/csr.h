// Sorted lists in one array.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "longspan/base/parallel.h"
#include "longspan/base/pattern_view.h"

namespace longspan::patterns {

/// What a CsrView looks at; an empty one has no rows.
struct Csr {
  std::vector<int64_t> begin = {0};
  std::vector<int32_t> keys;

  int64_t rows() const { return static_cast<int64_t>(begin.size()) - 1; }
  int64_t size() const { return static_cast<int64_t>(keys.size()); }
  CsrView view() const { return {rows(), begin.data(), keys.data()}; }
  std::span<const int32_t> row(int64_t r) const { return view().row(r); }
  bool operator==(const Csr&) const = default;
};

/// The lists of an N-column matrix from the side of the columns.
struct TransposedCsr {
  Csr rows;                     ///< column -> rows, ascending
  std::vector<uint32_t> edges;  ///< position of each entry in the keys of the original
};

/// Needs fewer than 2^32 entries. The result does not depend on the number of threads.
TransposedCsr transpose(const CsrView& csr, int64_t columns, const Parallel& parallel = SerialParallel());

}  // namespace longspan::patterns
