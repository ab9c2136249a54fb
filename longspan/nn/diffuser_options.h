// The options of Diffuser (specification B.7).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "longspan/nn/attention.h"
#include "longspan/nn/usable_options.h"
#include "longspan/ops/diffusion/diffusion.h"
#include "longspan/patterns/options.h"

namespace longspan::nn {

struct DiffuserOptions {
  enum class Padding { packed, remove, reference };
  enum class DropoutMode { once, per_hop };
  enum class Backward { recompute_slices, store_all, recompute_quadratic };
  enum class EdgeWeights { stored, recomputed };
  enum class EmptyRow { alpha_v, error };

  ops::DiffusionKind diffusion = ops::DiffusionKind::ppr_iterate;
  int64_t hops = 5;          ///< K
  double alpha = 0.1;        ///< of ppr: weight of the values themselves; of learned: where it starts
  bool learn_alpha = false;  ///< of ppr: one trained alpha for each head, in (0, 1) by construction
  double t = 3;              ///< of heat: mean number of hops, before the series is cut
  /// `causal` is set by the attention.
  patterns::PatternOptions pattern = {};
  std::string edges;            ///< of the generator edges: file of pairs, or KeptEdges
  int64_t pattern_seed = 0;     ///< of random keys and global tokens
  bool seed_per_layer = false;  ///< every layer draws for itself
  Padding padding = Padding::packed;
  EmptyRow empty_row = EmptyRow::alpha_v;
  double attn_dropout = 0;  ///< on the attention weights
  DropoutMode dropout_mode = DropoutMode::once;
  double hop_dropout = 0;  ///< on the features after every hop, the last included
  Backward backward = Backward::recompute_slices;
  EdgeWeights edge_weights = EdgeWeights::stored;
};

/// Pairs that a saved model has among its weights: what stands for their file in its configuration, as
/// "weights:<tokens>:<pairs>".
struct KeptEdges {
  int64_t tokens = 0, pairs = 0;
};
std::string name_of(const KeptEdges& edges);
/// None for the name of a file; InputError for "weights:" with anything but two numbers behind it.
std::optional<KeptEdges> kept_edges(const std::string& edges);

/// Every field: those of diffusion, `pattern`, and those of patterns::pattern_fields() but `causal`.
const FieldTable<DiffuserOptions>& diffuser_fields();

/// Options with `values` set. `pattern` is a preset, a generator or a union with defaults of its own; a field that it
/// does not use is an InputError that names both.
DiffuserOptions diffuser_options(const FieldValues& values);

/// Every field, null where the pattern has no use for it.
FieldValues diffuser_values(const DiffuserOptions& options);

/// Options that `pattern` has no use for: a stream reads no padding, so a causal attention always packs.
std::vector<std::string> diffuser_unused(Pattern pattern);

/// Which options others make idle. A non-default value of an idle one is refused.
const std::vector<IdleRule>& diffuser_idle();

/// Checks ranges and combinations, InputError; sets pattern.causal.
DiffuserOptions resolved_diffuser(Pattern pattern, DiffuserOptions options);

/// Hops that the kind of diffusion makes.
inline int64_t hops_of(const DiffuserOptions& options) {
  return options.diffusion == ops::DiffusionKind::single ? 1 : options.hops;
}

/// Small configurations for the property harness: every kind of diffusion, and every pattern that `pattern` can have
/// (of causal ones those that can be continued).
std::vector<FieldValues> diffuser_harness(Pattern pattern);

}  // namespace longspan::nn
