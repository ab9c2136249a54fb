// Products over the pairs (i, j) of a band, in ATen operators: what stands outside a row's window, infinite or not a
// number, reaches neither its results nor its gradients, though the products run over whole blocks.
//
// A product that skipped pairs would need a loop. Instead elements that are not finite are replaced by zero before they
// are multiplied, and a result that sees one of them in its window becomes NaN. No value is read on the host, and the
// number of calls is fixed.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/SymInt.h>

#include "longspan/ops/common/optional.h"

namespace longspan::ops::local {

/// Query i of a block sees the keys j with begin <= j - i < end.
struct Band {
  c10::SymInt begin, end;
};

/// Scores of queries for keys, and their row log-sum-exp.
struct Scores {
  at::Tensor values;  ///< [.., G, I, J], -infinity outside the band; 0 throughout a row without a finite score
  at::Tensor lse;     ///< [.., G, I, 1], -infinity for such a row; not differentiable
};

/// q [.., G, I, D], k [.., J, D]; `bias`, which broadcasts to the scores, is added to them. `outside`: bool, broadcasts
/// to the scores, true for pairs that do not meet (all those outside `band`, perhaps others). A row without a finite
/// score gives its operands a gradient of exactly 0. Differentiable any number of times.
Scores band_scores(const at::Tensor& q, const at::Tensor& k, const OptionalTensor& bias, const at::Tensor& outside,
                   const Band& band);

/// Sums over the band of weights [.., G, I, J], which are 0 outside it, times values [.., J, D]: [.., G, I, D].
/// Differentiable any number of times.
at::Tensor band_mix(const at::Tensor& weights, const at::Tensor& values, const Band& band);

}  // namespace longspan::ops::local
