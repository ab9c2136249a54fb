// The orthogonal basis of LAVO's memory (specification A.4).
#pragma once

#include "longspan/nn/pch.h"

namespace longspan::nn {

/// [bases, slots, width] in the default dtype: for each base a matrix of normal numbers [width, slots], its thin
/// Householder QR in float64 with the signs of R's diagonal, rows = gain * columns of Q. Uniform over orthonormal
/// frames. Every base draws from a seed of its own, taken from torch's generator.
at::Tensor make_basis(int64_t bases, int64_t slots, int64_t width, double gain);

/// Retraction, in place: basis <- gain * qf(basis^T)^T in float64, qf = thin QR with a positive diagonal of R.
void retract_basis(at::Tensor& basis, double gain);

}  // namespace longspan::nn
