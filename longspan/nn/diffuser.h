// Diffuser: attention over a sparse pattern, applied several times to spread values along its paths (specification
// part B).
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "longspan/nn/ablation.h"
#include "longspan/nn/attention.h"
#include "longspan/nn/diffuser_options.h"
#include "longspan/nn/diffuser_patterns.h"
#include "longspan/nn/projections.h"
#include "longspan/ops/diffusion/diffusion.h"

namespace longspan::nn {

/// A = softmax(q k^T / sqrt(D)) over the pairs of a pattern; Z_0 = V, Z_{k+1} = (1 - alpha) A Z_k + alpha V; the output
/// is Z_K (the other kinds of diffusion mix the hops with other weights). Each sequence has the pattern of its own
/// length. Patterns are shared by heads, examples and layers.
///
/// Parameters beside q, k, v, out: `alpha_logit` [H] (learn_alpha; alpha is its sigmoid), `hop_logits` [H (K + 1)]
/// (diffusion learned; the hops' weights are their softmax, head by head). Buffers: `given_edge_begin` [N + 1] int64
/// and `given_edge_keys` [E] int32, the pairs of one's own as compressed rows (generator edges), so that a saved model
/// needs no other file.
///
/// In training mode dropout draws one seed from torch's generator in every call. Masks depend on the seed, the stream's
/// number in the batch and positions in the stream alone: calls that find torch's generator in one state drop the same,
/// whether a stream comes whole or in parts.
///
/// State (causal_self): "keys" [B, Hk, P, D] and "hops" [B, H, K, P, D] (Z_0 .. Z_{K-1}, float32 or float64) of the
/// tokens that a later query can have as a key (patterns::kept_tokens; zeros behind those of the younger streams), and
/// "count" [B], the tokens consumed. P stays below a constant for windows and global tokens that are all past, and
/// grows by one a token with random or strided keys and until the last global token has come. Patterns that depend on
/// the length are refused by name.
class DiffuserAttention final : public Attention {
 public:
  /// Throws InputError for a cross pattern and for options that do not go together.
  DiffuserAttention(Pattern pattern, AttentionSizes sizes, DiffuserOptions options);

  AttentionProperties properties() const override;
  /// Makes the pattern of `keys` tokens to count its pairs.
  AttentionCost cost(int64_t queries, int64_t keys) const override;
  FieldValues options() const override;
  /// v may be wider or narrower than q.
  at::Tensor attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) override;

  /// diffusion: single (one hop). local, random, global: off (these generators leave the pattern, for those that it
  /// has beside others; the pairs of the others and self-loops stay what they are). head: the number of one head whose
  /// output is 0. none: as trained. The state follows the ablation.
  std::vector<std::string> ablations() const override;

  /// From now on texts are taken to be rolled round, and `what` of the pattern is rolled with them; inputs lie in the
  /// order of the slots, global tokens of a text are given by their places before. For the rolling experiment.
  /// InputError for a causal attention, and for global tokens where the pattern has none.
  void roll_pattern(PatternRoll what, const Rolling& rolling);

  /// The pairs stay what and where they are.
  void to(torch::Device device, torch::Dtype dtype, bool non_blocking) override;
  void to(torch::Dtype dtype, bool non_blocking) override;
  void to(torch::Device device, bool non_blocking) override;

 protected:
  void set_ablation(const std::string& part, const std::string& way) override;
  at::Tensor forward_packed(const at::Tensor& x, const Packed& packed) override;
  StateLayout state_layout() const override;
  State begin_self(int64_t batch) override;
  State begin_cross(const at::Tensor& source, const std::optional<at::Tensor>& source_cu, int64_t batch) override;
  at::Tensor extend_packed(State& state, const at::Tensor& x, const std::optional<at::Tensor>& cu) override;
  /// "weights" A [B, H, N, N], "values" V [B, H, N, D], and "polynomial" [H, K + 1], the weights of V, A V, .., A^K V.
  std::map<std::string, at::Tensor> inspect_dense(const at::Tensor& x,
                                                  const std::optional<at::Tensor>& source) override;

 private:
  /// Streams of one age that consume equally many new tokens, q, k, v [G, H or Hk, N, D].
  struct Group {
    int64_t count = 0;          ///< tokens consumed before
    std::vector<int64_t> rows;  ///< their numbers in the batch
    at::Tensor q, k, v, keys, hops;
  };
  /// Outputs, and what the streams keep afterwards.
  struct Extended {
    at::Tensor out, keys, hops;
  };

  bool causal() const { return pattern() == Pattern::causal_self; }
  bool single() const { return single_hop_ || options_.diffusion == ops::DiffusionKind::single; }
  int64_t hops() const { return single() ? 1 : options_.hops; }
  /// [1 or H, 2 K + 1] for operands like q.
  at::Tensor coefficients(const at::Tensor& q) const;
  ops::DiffusionOptions operator_options() const;
  /// Made at the first use, and again after weights were read.
  std::shared_ptr<DiffuserPatterns> own_patterns() const;
  /// Registers the buffers of pairs of one's own, read from the file that options_.edges names, or with room for those
  /// of a saved model; options_.edges becomes what a saved configuration has.
  void keep_edges();
  std::optional<patterns::EdgeList> edges() const;
  template <class Move>
  void move_all_but_edges(const Move& move);
  /// The tensor of a pattern, unless empty_row forbids it.
  at::Tensor checked(const DiffuserPatterns::Entry& entry) const;
  /// The pattern of a text of n tokens.
  at::Tensor pattern_of_text(int64_t n, const GlobalTokens& global = std::nullopt) const;
  ops::DiffusionPatterns choose_patterns(const at::Tensor& q, const Packed& packed) const;
  at::Tensor attend_packed(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const Packed& packed) const;
  at::Tensor merge(at::Tensor heads);

  void check_streaming() const;
  void check_rows_kept(const State& state) const;
  Extended extend_group(const Group& group, ops::DiffusionOptions options) const;

  DiffuserOptions options_;
  Projections project_;
  at::Tensor alpha_logit_, hop_logits_;
  at::Tensor edge_begin_, edge_keys_;
  std::unique_ptr<std::mutex> patterns_mutex_ = std::make_unique<std::mutex>();
  mutable std::shared_ptr<DiffuserPatterns> patterns_;
  mutable int64_t patterns_version_ = 0;
  std::vector<patterns::Generator> generators_off_;
  PatternRoll roll_ = PatternRoll::none;
  Rolling rolling_;
  bool single_hop_ = false;
  HeadAblation head_ablation_;
};

}  // namespace longspan::nn
