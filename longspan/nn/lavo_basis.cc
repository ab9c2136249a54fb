#include "longspan/nn/lavo_basis.h"

#include <ATen/CPUGeneratorImpl.h>

#include <limits>

namespace longspan::nn {
namespace {

/// Columns [..., D, R] -> gain * qf(columns)^T [..., R, D]; sign(0) = +1.
at::Tensor orthogonal_rows(const at::Tensor& columns, double gain) {
  const auto [q, r] = at::linalg_qr(columns, "reduced");
  const at::Tensor diagonal = r.diagonal(0, -2, -1);
  const at::Tensor signs = at::where(diagonal < 0, -at::ones_like(diagonal), at::ones_like(diagonal));
  return (q * signs.unsqueeze(-2)).transpose(-1, -2) * gain;
}

/// [bases, rows, columns] float64, every base from a seed of its own.
at::Tensor normal_numbers(int64_t bases, int64_t rows, int64_t columns) {
  std::vector<at::Tensor> out;
  for (int64_t b = 0; b < bases; ++b) {
    const int64_t seed = at::randint(std::numeric_limits<int64_t>::max(), {1}, at::kLong).item<int64_t>();
    out.push_back(at::randn({rows, columns}, at::detail::createCPUGenerator(static_cast<uint64_t>(seed)),
                            at::TensorOptions().dtype(at::kDouble)));
  }
  return at::stack(out);
}

/// [..., n (n - 1) / 2] -> skew [..., n, n].
at::Tensor skew(const at::Tensor& upper, int64_t n) {
  const at::Tensor places = at::triu_indices(n, n, 1, upper.options().dtype(at::kLong));
  std::vector<int64_t> sizes = upper.sizes().vec();
  sizes.back() = n * n;
  const at::Tensor index = (places[0] * n + places[1]).expand_as(upper);
  const at::Tensor half = at::zeros(sizes, upper.options()).scatter(-1, index, upper).unflatten(-1, {n, n});
  return half - half.transpose(-1, -2);
}

}  // namespace

at::Tensor make_basis(int64_t bases, int64_t slots, int64_t width, double gain) {
  if (slots > width) return make_basis(bases, width, slots, gain).transpose(-1, -2).contiguous();
  return orthogonal_rows(normal_numbers(bases, width, slots), gain).contiguous().to(torch::get_default_dtype());
}

void retract_basis(at::Tensor& basis, double gain) {
  const at::NoGradGuard no_grad;
  basis.copy_(orthogonal_rows(basis.to(at::kDouble).transpose(-1, -2), gain));
}

// (I - W)(I + W)^-1 = 2 (I + W)^-1 - I: one system to solve. I + W has no singular value below 1.
at::Tensor cayley_rows(const at::Tensor& upper, const at::Tensor& start, int64_t slots) {
  const int64_t width = start.size(-1);
  const at::Tensor matrix = at::eye(width, start.options()) + skew(upper, width);
  return (at::linalg_solve(matrix, start) * 2 - start).narrow(-2, 0, slots);
}

// The product of reflections at the columns of U is I - U T U^T with T^-1 = the strictly upper part of U^T U plus half
// its diagonal.
at::Tensor householder_rows(const at::Tensor& vectors, double gain) {
  const int64_t slots = vectors.size(-2);
  const at::Tensor gram = at::matmul(vectors, vectors.transpose(-1, -2));
  const at::Tensor inverse = gram.triu(1) + at::diag_embed(gram.diagonal(0, -2, -1) * 0.5);
  const at::Tensor solved = at::linalg_solve_triangular(inverse, vectors, /*upper=*/true);  // T U^T
  const at::Tensor head = vectors.narrow(-1, 0, slots).transpose(-1, -2);                   // the first rows of U
  return (at::eye(slots, vectors.size(-1), vectors.options()) - at::matmul(head, solved)) * gain;
}

Basis::Basis(torch::nn::Module& owner, const BasisOptions& options) : options_(options) {
  const bool sliced = options.sharing == BasisSharing::sliced;
  const int64_t bases = options.sharing == BasisSharing::per_head ? options.heads : 1;
  const int64_t width = sliced ? options.heads * options.width : options.width;
  if (options.mode == BasisMode::cayley) {
    start_ = owner.register_buffer("basis_start", make_basis(bases, width, width, options.gain));
    stored_ = owner.register_parameter("basis_skew", torch::zeros({bases, width * (width - 1) / 2}));
  } else if (options.mode == BasisMode::householder) {
    stored_ = owner.register_parameter("basis_vectors",
                                       normal_numbers(bases, options.slots, width).to(torch::get_default_dtype()));
  } else {
    const at::Tensor start = make_basis(bases, options.slots, width, options.gain);
    stored_ = options.mode == BasisMode::frozen ? owner.register_buffer("basis", start)
                                                : owner.register_parameter("basis", start);
  }
}

at::Tensor Basis::rows() const {
  at::Tensor out = stored_;
  if (options_.mode == BasisMode::cayley)
    out = cayley_rows(stored_.to(at::kDouble), start_.to(at::kDouble), options_.slots).to(stored_.scalar_type());
  if (options_.mode == BasisMode::householder)
    out = householder_rows(stored_.to(at::kDouble), options_.gain).to(stored_.scalar_type());
  if (options_.sharing != BasisSharing::sliced) return out;
  return out.squeeze(0).unflatten(1, {options_.heads, options_.width}).transpose(0, 1);
}

at::Tensor Basis::penalty() const {
  if (!defined() || options_.mode != BasisMode::soft) return {};
  const at::Tensor gram = at::matmul(stored_, stored_.transpose(-1, -2));
  const at::Tensor target = at::eye(options_.slots, gram.options()) * (options_.gain * options_.gain);
  return (gram - target).square().sum() * options_.penalty;
}

void Basis::after_step() {
  if (defined() && options_.mode == BasisMode::qr) retract_basis(stored_, options_.gain);
}

}  // namespace longspan::nn
