// The orthogonal basis of LAVO's memory (specification A.4).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "longspan/nn/pch.h"

namespace longspan::nn {

/// How the basis is trained, and what keeps it orthogonal.
enum class BasisMode {
  frozen,       ///< not trained
  qr,           ///< the rows are trained; after_step() makes them orthogonal again
  cayley,       ///< the rows of (I - W)(I + W)^-1 B_0 with a trained skew W, 0 at the start
  householder,  ///< the rows of a product of r reflections at trained vectors
  soft,         ///< the rows are trained; penalty() draws them together
  free          ///< the rows are trained, orthogonal at the start only
};
/// How heads share it: one each, one for all, or one as wide as all heads together, of which each takes its columns.
enum class BasisSharing { per_head, shared_heads, sliced };

/// Names of the modes that keep the rows orthogonal, or draw them there, and of the sharings.
inline const std::vector<std::pair<std::string, BasisMode>> kOrthogonalModes = {{"frozen", BasisMode::frozen},
                                                                                {"qr", BasisMode::qr},
                                                                                {"cayley", BasisMode::cayley},
                                                                                {"householder", BasisMode::householder},
                                                                                {"soft", BasisMode::soft}};
inline const std::vector<std::pair<std::string, BasisSharing>> kBasisSharings = {
    {"per_head", BasisSharing::per_head},
    {"shared_heads", BasisSharing::shared_heads},
    {"sliced", BasisSharing::sliced}};

struct BasisOptions {
  BasisMode mode = BasisMode::qr;
  BasisSharing sharing = BasisSharing::per_head;
  int64_t heads = 1, slots = 1, width = 1;  ///< H, R, D; R <= D where anything keeps the rows orthogonal
  double gain = 1;                          ///< norm of the rows
  double penalty = 1e-3;                    ///< factor of penalty()
};

/// The basis of a module. In its owner it registers, with G bases of width C (sharing per_head: G = H, C = D;
/// shared_heads: 1, D; sliced: 1, H D):
///
///   frozen           buffer `basis` [G, R, C]
///   qr, soft, free   parameter `basis` [G, R, C]
///   cayley           parameter `basis_skew` [G, C (C - 1) / 2], the entries above W's diagonal row by row, and buffer
///                    `basis_start` [G, C, C], the orthogonal B_0
///   householder      parameter `basis_vectors` [G, R, C]
class Basis {
 public:
  Basis() = default;
  /// Draws the start from torch's generator, in the default dtype.
  Basis(torch::nn::Module& owner, const BasisOptions& options);

  bool defined() const { return stored_.defined(); }
  /// [H or 1, R, D], differentiable in the parameters and in their dtype. cayley and householder compute in float64.
  at::Tensor rows() const;
  /// Mode soft: penalty times the sum of the squared entries of B B^T - gain^2 I; undefined otherwise.
  at::Tensor penalty() const;
  /// Mode qr: retraction.
  void after_step();
  /// Options of tensors beside it.
  at::TensorOptions options() const { return stored_.options().requires_grad(false); }

 private:
  BasisOptions options_;
  at::Tensor stored_;  // the parameter, or the frozen buffer
  at::Tensor start_;   // cayley: gain * B_0
};

/// [bases, slots, width] in the default dtype: for each base a matrix of normal numbers [width, slots], its thin
/// Householder QR in float64 with the signs of R's diagonal, rows = gain * columns of Q. Uniform over orthonormal
/// frames. Every base draws from a seed of its own, taken from torch's generator. With more slots than width the
/// columns are orthogonal, of norm gain, instead.
at::Tensor make_basis(int64_t bases, int64_t slots, int64_t width, double gain);

/// Retraction, in place: basis <- gain * qf(basis^T)^T in float64, qf = thin QR with a positive diagonal of R.
void retract_basis(at::Tensor& basis, double gain);

/// The first `slots` rows of (I - W)(I + W)^-1 `start`: upper [G, C (C - 1) / 2] holds the entries above the diagonal
/// of the skew W, start is [G, C, C].
at::Tensor cayley_rows(const at::Tensor& upper, const at::Tensor& start, int64_t slots);

/// gain times the first R rows of the product over i of I - 2 u_i u_i^T / <u_i, u_i>, u_i the rows of vectors
/// [G, R, C].
at::Tensor householder_rows(const at::Tensor& vectors, double gain);

}  // namespace longspan::nn
