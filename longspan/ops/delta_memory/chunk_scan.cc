#include "longspan/ops/delta_memory/chunk_scan.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

#include <vector>

#include "longspan/ops/delta_memory/check.h"

namespace longspan::ops::delta {
namespace {

// 2^24 chunks are 268 M rows, of all sequences and the batch together. Levels above what is there cost a few calls on
// one chunk each.
constexpr int64_t kLevels = 24;

// 0 where a stream begins, `begins` [1, chunks, 1, 1]: not a product, since what is masked may be infinite.
at::Tensor keep_unless(const at::Tensor& begins, const at::Tensor& x) { return x.masked_fill(begins, 0); }

// [.., chunks, .., ..] as the first and the second of each pair.
struct Pairs {
  at::Tensor first, second;

  Pairs(const at::Tensor& x, const c10::SymInt& pairs) {
    const std::vector<c10::SymInt> padding = {0, 0, 0, 0, 0, 2 * pairs - x.sym_size(1)};
    const auto parts = at::constant_pad_nd_symint(x, padding).unflatten_symint(1, {pairs, 2}).unbind(2);
    first = parts[0];
    second = parts[1];
  }
};

// `chunks`: of the lowest level, from which each level's number follows by one division.
at::Tensor scan(const ChunkMaps& maps, const at::Tensor& begins, const c10::SymInt& chunks, int64_t level) {
  const at::Tensor& term = maps.term;
  const c10::SymInt here = term.sym_size(1);
  if (level == kLevels) return at::zeros_symint(term.sym_sizes(), term.options());
  // One pair more than there are, on all levels: then no number is 1 and no padding 0 at one length and not at another,
  // which a graph traced at that length would hold to.
  const int64_t span = int64_t{2} << level;
  const c10::SymInt pairs = (chunks + (span - 1)) / span + 1;
  const Pairs factor(maps.factor, pairs), terms(term, pairs), reset(begins, pairs);
  const ChunkMaps together{maps.multiply(factor.second, keep_unless(reset.second, factor.first)),
                           maps.multiply(factor.second, keep_unless(reset.second, terms.first)) + terms.second,
                           maps.diagonal};
  const at::Tensor before = scan(together, reset.first.logical_or(reset.second), chunks, level + 1);
  const at::Tensor between = maps.multiply(factor.first, keep_unless(reset.first, before)) + terms.first;
  return at::stack({before, between}, 2).flatten(1, 2).narrow_symint(1, 0, here);
}

}  // namespace

at::Tensor ChunkMaps::multiply(const at::Tensor& a, const at::Tensor& b) const {
  return diagonal ? a * b : at::matmul(a, b);
}

at::Tensor states_before(const ChunkMaps& maps, const at::Tensor& begins) {
  const c10::SymInt chunks = maps.term.sym_size(1), most = int64_t{1} << kLevels;
  TORCH_CHECK_VALUE(chunks.sym_le(most).expect_true(__FILE__, __LINE__), kOp,
                    ": backend: the composed form takes up to ", most, " chunks of ", kDeltaChunk, " rows, got ",
                    chunks);
  return scan(maps, begins.view({1, -1, 1, 1}), chunks, 0);
}

}  // namespace longspan::ops::delta
