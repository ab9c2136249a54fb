// The forms in ATen operators: what they share is the call of one pattern, the loop over hops, and the way from a batch
// or a pack to the sequences of each pattern and back.
#pragma once

#include <memory>

#include "longspan/base/pattern_view.h"
#include "longspan/ops/common/backend.h"
#include "longspan/ops/diffusion/dispatch.h"

namespace longspan::ops::diffuse {

/// Sequences of one pattern, in the dtype of sums. b sequences of n tokens, of which the last N have queries.
struct Call {
  const PatternView* pattern = nullptr;
  int64_t first_row = 0;    ///< n - N
  at::Tensor q;             ///< [b, H, N, D], times the scale
  at::Tensor k;             ///< [b, H, n, D]
  at::Tensor v;             ///< [b, H, N, Dv]
  at::Tensor coefficients;  ///< [H or 1, 2 K + 1]
  at::Tensor valid;         ///< [b, n] bool; undefined: all
  at::Tensor past;          ///< [b, H, K, n - N, Dv]; undefined: none
  at::Tensor row;           ///< [b] int64: that dropout counts by
  at::Tensor position;      ///< [b, n] int64: the same, of tokens
};

/// The weights A of a call, and their products.
class Attention {
 public:
  virtual ~Attention() = default;
  /// A, with the mask that dropout has in this hop, times z [b, H, n, Dv]: [b, H, N, Dv].
  virtual at::Tensor mix(const at::Tensor& z, int64_t hop) const = 0;
  /// [b, H, N], -infinity for a row without a finite score; carries no gradient.
  virtual at::Tensor lse() const = 0;
};

/// Numbers that the operator returns, of one pattern or of all.
struct AtenOutputs {
  at::Tensor out;     ///< [b, H, N, Dv]
  at::Tensor lse;     ///< [b, H, N]
  at::Tensor states;  ///< [b, H, K, N, Dv]: of the rows with queries; undefined where unwanted
};

/// Score of a pair with an invalid end, where padding is "reference".
inline constexpr double kInvalidScore = -10000;

/// All of the operator in the form `chosen`, which is not the kernel. Checks its arguments. Results are in the dtypes
/// and layouts of the operator's, states apart: [B, H, K, N, Dv], in a pack [1, H, K, N, Dv].
AtenOutputs run_in_aten(Backend chosen, const Inputs& x, const Patterns& patterns, const Options& options,
                        bool want_states = false);
/// The same of a stream's piece.
AtenOutputs run_extend_in_aten(Backend chosen, const Inputs& x, const Past& past, const Patterns& patterns,
                               const Options& options);

/// Makes the weights of a call: reference.cc, composed.cc.
std::unique_ptr<Attention> reference_attention(const Call& call, const Options& options);
std::unique_ptr<Attention> composed_attention(const Call& call, const Options& options);

}  // namespace longspan::ops::diffuse
