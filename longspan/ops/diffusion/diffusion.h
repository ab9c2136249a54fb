// The operator longspan::diffusion; docs/ops/diffusion.md has definition, gradient and cost.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "longspan/patterns/pattern.h"

namespace longspan::ops {

/// A pattern as one int32 tensor [L] on the CPU, which is how operators take it: its pieces and their transpose, in the
/// format of patterns/packed.h. pattern_of_tensor() is the inverse.
at::Tensor pattern_tensor(const patterns::Pattern& pattern);
patterns::Pattern pattern_of_tensor(const at::Tensor& packed);

/// The patterns of a batch: one for all, or a list and the number of each batch row's (or packed sequence's) in it.
struct DiffusionPatterns {
  std::vector<at::Tensor> patterns;
  std::optional<at::Tensor> pattern_of = std::nullopt;  ///< [sequences] int64 on the CPU; needed for more than one
};

/// Everything about diffusion that is not attended over.
struct DiffusionOptions {
  /// Of the scores; 1 / sqrt(D) unless given.
  std::optional<double> scale = std::nullopt;
  /// Borders of packed sequences (then B = 1): [S + 1], int64 or int32, on the CPU or beside q, ascending from 0 to N.
  std::optional<at::Tensor> cu_seqlens = std::nullopt;
  /// [B, N] bool, true = a real token; not together with cu_seqlens.
  std::optional<at::Tensor> valid = std::nullopt;
  /// What becomes of a pair with an invalid end: "remove" (it leaves the pattern), "reference" (its score is -10000).
  std::string_view padding = "remove";
  /// Probability with which a weight becomes zero, in [0, 1); the others are multiplied by 1 / (1 - p), not
  /// renormalised.
  double attention_dropout = 0;
  /// "once": the same mask in every hop; "per_hop": one for each.
  std::string_view dropout_mode = "once";
  /// The same for the features of the state after every hop.
  double hop_dropout = 0;
  /// int64, no dimensions, on the CPU or beside q; needed where something is dropped.
  std::optional<at::Tensor> dropout_seed = std::nullopt;
  /// [sequences, 2] int64: as for local_attention.
  std::optional<at::Tensor> dropout_origin = std::nullopt;
  /// Where the backward pass has the states of the hops from: "recompute_slices", "store_all", "recompute_quadratic".
  std::string_view backward = "recompute_slices";
  /// "stored" (kept for the backward pass), "recomputed" (formed again in every hop).
  std::string_view edge_weights = "stored";
  /// As for local_attention.
  std::string_view backend = "auto";
};

/// Diffusion of values over a sparse attention.
///
///   q [B, H, N, D], k [B, Hk, N, D], v [B, Hk, N, Dv], coefficients [H or 1, 2 K + 1] -> out [B, H, N, Dv]
///
///   Z_0 = start V;  Z_{k+1} = carry_k A Z_k + source_k V;  out = Z_K;  coefficients = (start, carry_0, source_0, ...)
///
/// A row without keys has A = 0. `coefficients` (diffusion_coefficients() makes them) has a gradient; float64 for
/// float64 operands, else float32. Each sequence has as many tokens as its pattern. Kernels for float32, float64 and
/// bfloat16 (sums in float32) on the CPU; everything else takes the composed form. The kernel is differentiable once.
/// Errors: c10::ValueError (ValueError in Python) with one line "diffusion: <argument>: expected ..., got ...".
at::Tensor diffusion(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& coefficients,
                     const DiffusionPatterns& patterns, const DiffusionOptions& options);

/// A piece of a causal stream. The first P of the M tokens are past: k [B, Hk, M, D] has their keys, states
/// [B, H, K, P, Dv] their Z_0 .. Z_{K-1}; q and v have the M - P new ones. Each pattern is that of M tokens;
/// `positions` [M] int64 (the tokens' places in the stream, for dropout) where not all were kept. Returns out
/// [B, H, M - P, Dv] and the states of the new tokens [B, H, K, M - P, Dv], dtype of the coefficients. Differentiable
/// once, in q, k, v, states and coefficients. Without cu_seqlens and valid.
std::tuple<at::Tensor, at::Tensor> diffusion_extend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                                    const at::Tensor& coefficients, const at::Tensor& states,
                                                    const DiffusionPatterns& patterns,
                                                    const std::optional<at::Tensor>& positions,
                                                    const DiffusionOptions& options);

/// The kinds of diffusion as coefficients [1 or H, 2 K + 1], float64; float32 operands take them `.to(at::kFloat)`.
enum class DiffusionKind { ppr_iterate, ppr_truncated, heat, single, learned };

/// hops: at most 2^20. alpha: a scalar tensor or [H] (ppr kinds; differentiable); t: the same for heat, finite; logits
/// [H or 1, K + 1] for learned (theta = their softmax). `single` has one hop whatever K. Errors: c10::ValueError, one
/// line.
at::Tensor diffusion_coefficients(DiffusionKind kind, int64_t hops, const std::optional<at::Tensor>& alpha,
                                  const std::optional<at::Tensor>& t, const std::optional<at::Tensor>& logits);

/// The weights of V, A V, .., A^K V that coefficients [H or 1, 2 K + 1] stand for (specification B.5), [H or 1, K + 1].
at::Tensor diffusion_polynomial(const at::Tensor& coefficients);

}  // namespace longspan::ops
