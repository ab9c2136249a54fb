// The options of lavo_selective; docs/selective.md explains them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "longspan/nn/attention.h"
#include "longspan/nn/delta_state.h"
#include "longspan/nn/lavo_options.h"

namespace longspan::nn {

struct LavoSelectiveOptions {
  /// What keys and queries become before they meet the memory, by a matrix B [R, D] a head: a unit vector B x / |B x|
  /// with orthonormal or with free rows of B, or weights softmax(B x).
  enum class Addresses { orthonormal, free, softmax };
  using TableSharing = LavoOptions::TableSharing;

  int64_t r = 32;                                ///< slots of the memory a head; orthonormal: at most the head width
  int64_t w = 16;                                ///< local window: a query reads the keys at a distance below w
  bool delta = false;                            ///< a write replaces what its address reads, or is added to it
  MemoryDecay decay = MemoryDecay::scalar;       ///< forgetting
  Addresses addresses = Addresses::orthonormal;  ///< how keys and queries address the slots
  BasisMode basis_mode = BasisMode::qr;          ///< of orthonormal addresses
  BasisSharing basis_sharing = BasisSharing::per_head;
  double basis_gain = 1.0;      ///< of softmax addresses: norm of the rows of B at the start
  double basis_penalty = 1e-3;  ///< of basis_mode soft
  bool conv = true;             ///< a causal convolution on the memory's keys
  int64_t conv_width = 4;       ///< its taps
  bool share_qk = false;        ///< the memory reads the local branch's queries and keys
  bool tied_init = true;        ///< the memory's queries start as its keys
  double gain_init = 0.05;      ///< start of the gain of what the memory gives, a number a channel
  bool epe = true;              ///< embedded position encoding of the local branch
  TableSharing epe_sharing = TableSharing::per_head;
  TableStart epe_init = TableStart::slope;
  double dropout = 0.0;  ///< on the local attention's probabilities
};
const FieldTable<LavoSelectiveOptions>& lavo_selective_fields();

/// Options that `pattern` has no use for: cross patterns have no local branch.
std::vector<std::string> lavo_selective_unused(Pattern pattern);

/// Which options others make idle. A non-default value of an idle one is refused.
const std::vector<IdleRule>& lavo_selective_idle();

/// Checks ranges and combinations, InputError.
LavoSelectiveOptions resolved_lavo_selective(const AttentionSizes& sizes, LavoSelectiveOptions options);

/// Parameters of a causal_self layer that are larger than its projections, or may be: AttentionEntry::tables.
std::map<std::string, std::vector<int64_t>> lavo_selective_tables(const AttentionSizes& sizes,
                                                                  const LavoSelectiveOptions& options);

/// Configurations for the property harness in which every two settings meet that `pattern` allows together; for heads
/// of width 8 and more.
const std::vector<FieldValues>& lavo_selective_harness(Pattern pattern);

}  // namespace longspan::nn
