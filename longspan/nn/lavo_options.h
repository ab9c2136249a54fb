// The options of LAVO (specification A.2).
#pragma once

#include <string>
#include <vector>

#include "longspan/nn/attention.h"
#include "longspan/nn/lavo_basis.h"
#include "longspan/nn/position_table.h"
#include "longspan/nn/usable_options.h"

namespace longspan::nn {

struct LavoOptions {
  enum class MemoryProjection { value, key, own, input_slice };
  enum class MemoryInput { aggregated, raw };
  enum class MemoryUpdate { token, window };
  enum class History { shared, block_causal, block_bidirectional };
  enum class EmptyMemory { zero, local_only };
  enum class ScoreScale { one, inv_sqrt_d, learned, constant };
  enum class TableSharing { per_head, shared_heads };
  enum class Combine { mean, local, global };
  enum class Accumulator { float64, float32_compensated, float32 };

  int64_t r = 16;   ///< memory slots per head, at most the head width
  int64_t w = 16;   ///< local window: |i - j| < w
  bool epe = true;  ///< embedded position encoding: a trained score for every offset
  TableSharing epe_sharing = TableSharing::per_head;
  TableStart epe_init = TableStart::slope;
  BasisMode basis_mode = BasisMode::qr;
  BasisSharing basis_sharing = BasisSharing::per_head;
  double basis_gain = 1.0;                                 ///< norm of the basis rows
  double basis_penalty = 1e-3;                             ///< of basis_mode soft
  ScoreScale score_scale = ScoreScale::one;                ///< factor of the slot scores
  double score_constant = 1.0;                             ///< that of score_scale constant
  Combine combine = Combine::mean;                         ///< cross patterns: global
  MemoryProjection memory_proj = MemoryProjection::value;  ///< which projection the memory is fed from
  MemoryInput memory_input = MemoryInput::aggregated;      ///< aggregated by local attention first, or not
  History history_attention = History::shared;             ///< the local attention that aggregates
  MemoryUpdate memory_update = MemoryUpdate::token;        ///< causal: what position t reads
  EmptyMemory empty_memory = EmptyMemory::zero;            ///< first window, where there is no memory yet
  Accumulator accumulator = Accumulator::float64;          ///< type of the running sums
  double dropout = 0.0;                                    ///< on the local attention's probabilities
  double slot_dropout = 0.0;                               ///< on the reading weights of the slots
};
const FieldTable<LavoOptions>& lavo_fields();

/// Adds the fields of a local branch's position table, members of these names.
template <class Options>
FieldTable<Options> with_position_table(FieldTable<Options> table) {
  using Sharing = LavoOptions::TableSharing;
  return table
      .boolean("epe", &Options::epe, "embedded position encoding: a trained score for every offset in the window")
      .choice("epe_sharing", &Options::epe_sharing,
              {{"per_head", Sharing::per_head}, {"shared_heads", Sharing::shared_heads}},
              "one position table per head, or one for all heads")
      .choice("epe_init", &Options::epe_init, kTableStarts,
              "start of the position table: 0, normal(0.02), or falling with the distance at slopes 1, 1/2, 1/4, ...");
}

/// Options that `pattern` has no use for: cross patterns have no local branch (`combine` may be given there as global),
/// noncausal ones no order in which a memory fills.
std::vector<std::string> lavo_unused(Pattern pattern);

/// Which options others make idle. A non-default value of an idle one is refused.
const std::vector<IdleRule>& lavo_idle();

/// Checks ranges and combinations, InputError; sets what a cross pattern decides (combine global, memory_input raw).
LavoOptions resolved_lavo(Pattern pattern, const AttentionSizes& sizes, LavoOptions options);

/// What the options make of a layer.
struct LavoParts {
  bool output;             ///< F_local is (a part of) the output
  bool memory;             ///< there is a memory
  bool aggregated;         ///< its features are local attention's outputs
  bool local;              ///< local attention runs at all
  bool keys, values, own;  ///< projections that exist beside q and out
  LavoParts(Pattern pattern, const LavoOptions& options);
};

/// Configurations for the property harness in which every two settings meet that `pattern` allows together; for heads
/// of width 8 and more.
const std::vector<FieldValues>& lavo_harness(Pattern pattern);

}  // namespace longspan::nn
