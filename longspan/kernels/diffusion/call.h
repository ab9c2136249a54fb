// How a call is cut into work: its patterns as layouts, its sequences and groups of heads, scratch.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "longspan/base/check.h"
#include "longspan/kernels/diffusion/diffusion.h"
#include "longspan/kernels/diffusion/layout.h"
#include "longspan/kernels/diffusion/panels.h"

namespace longspan::kernels::diffusion {

/// Throws InputError for what breaks a rule of diffusion.h.
template <class S>
void check_diffusion(const DiffusionParams<S>& p) {
  LONGSPAN_CHECK(p.key_heads >= 0 && (p.key_heads == 0 || p.heads % p.key_heads == 0),
                 "diffusion: key_heads must divide ", p.heads, " heads, got ", p.key_heads);
  LONGSPAN_CHECK(p.width >= 1, "diffusion: width must be at least 1, got ", p.width);
  LONGSPAN_CHECK(p.value_width >= 1, "diffusion: value_width must be at least 1, got ", p.value_width);
  LONGSPAN_CHECK(p.hops >= 0, "diffusion: hops must not be negative, got ", p.hops);
  LONGSPAN_CHECK(p.first_row >= 0, "diffusion: first_row must not be negative, got ", p.first_row);
  LONGSPAN_CHECK(p.first_row == 0 || p.rows.starts == nullptr, "diffusion: first_row must be 0 under packing, got ",
                 p.first_row);
  for (const Dropout* dropout : {&p.attention_dropout, &p.hop_dropout})
    LONGSPAN_CHECK(dropout->probability >= 0 && dropout->probability < 1,
                   "diffusion: ", dropout == &p.hop_dropout ? "hop_dropout" : "attention_dropout",
                   " must be in [0, 1), got ", dropout->probability);
  for (int64_t s = 0; s < p.sequences; ++s) {
    const int64_t n = p.patterns[p.pattern_of != nullptr ? p.pattern_of[s] : 0].pattern.n;
    LONGSPAN_CHECK(n == p.rows.size(s), "diffusion: the pattern of sequence ", s, " must have its ", p.rows.size(s),
                   " tokens, got ", n);
    LONGSPAN_CHECK(p.first_row <= n, "diffusion: first_row must be at most the ", n, " tokens of sequence ", s,
                   ", got ", p.first_row);
  }
}

inline void check_weights(const void* weights) {
  LONGSPAN_CHECK(reinterpret_cast<uintptr_t>(weights) % kAlignment == 0, "diffusion: weights must be aligned to ",
                 kAlignment, " bytes");
}

/// Consecutive tiles whose weights stand at the same time.
struct Strip {
  int64_t first = 0, last = 0;  ///< tiles
};

/// A pattern of the call.
struct PlannedPattern {
  std::shared_ptr<const TileLayout> layout;
  std::vector<Strip> strips;  ///< one where the weights are stored
  int64_t strip_weights = 0;  ///< of the largest
};

/// Sequences and heads of a call.
template <class S>
class Plan {
 public:
  /// Weights of a strip, about.
  static constexpr int64_t kStripWeights = 1 << 18;

  Plan(const DiffusionParams<S>& params, bool backward) : params_(params) {
    std::map<int64_t, int64_t> number;  // of the patterns that are used
    int64_t weights = 0;
    for (int64_t s = 0; s < params.sequences; ++s) {
      const int64_t of = params.pattern_of != nullptr ? params.pattern_of[s] : 0;
      const auto [at, fresh] = number.emplace(of, static_cast<int64_t>(patterns_.size()));
      if (fresh) add(params.patterns[of], backward);
      pattern_of_.push_back(at->second);
      weights_begin_.push_back(weights);
      weights += params.heads * pattern(s).layout->weights();
    }
  }

  const PlannedPattern& pattern(int64_t s) const {
    return patterns_[static_cast<std::size_t>(pattern_of_[static_cast<std::size_t>(s)])];
  }
  /// First weight of a head in DiffusionForward::weights.
  int64_t weights_begin(int64_t s, int64_t head) const {
    return weights_begin_[static_cast<std::size_t>(s)] + head * pattern(s).layout->weights();
  }
  /// Query heads that read one head of keys.
  int64_t group() const { return params_.key_heads == 0 ? 1 : params_.heads / params_.key_heads; }
  int64_t groups() const { return params_.heads / group(); }

  /// task(sequence, group, loop, scratch) for all; `scratch` numbers the memory of tasks that run at the same time.
  /// Each is one task of the pool where they are many, else they come one after the other and share the pool.
  template <class Task>
  void run(const Parallel& parallel, const Task& task) const {
    const int64_t count = params_.sequences * groups();
    const auto one = [&](int64_t index, const Loop& loop, int scratch) {
      task(index / groups(), index % groups(), loop, scratch);
    };
    if (separate(parallel))
      parallel.run(count, [&](int64_t index, int worker) { one(index, Loop(worker), worker); });
    else
      for (int64_t index = 0; index < count; ++index) one(index, Loop(parallel), 0);
  }
  /// How many tasks run at the same time.
  int scratches(const Parallel& parallel) const { return separate(parallel) ? parallel.workers() : 1; }

 private:
  bool separate(const Parallel& parallel) const {
    return parallel.workers() == 1 || params_.sequences * groups() >= 2 * parallel.workers();
  }
  void add(const DiffusionPattern& pattern, bool backward) {
    PlannedPattern planned;
    if (pattern.layout != nullptr && params_.first_row == 0) {
      planned.layout = pattern.layout->tiles();
    } else {
      const auto made = std::make_shared<TileLayout>(pattern.pattern, params_.first_row);
      if (backward) made->transpose(pattern.transposed);
      planned.layout = made;
    }
    const TileLayout& layout = *planned.layout;
    const bool stored = params_.edge_weights == EdgeWeights::stored;
    for (int64_t tile = 0; tile < layout.tiles();) {
      Strip strip{tile, stored ? layout.tiles() : tile + 1};
      while (strip.last < layout.tiles() && layout.is_dense(strip.last) == layout.is_dense(tile) &&
             layout.offset(strip.last + 1) - layout.offset(tile) <= kStripWeights)
        ++strip.last;
      planned.strips.push_back(strip);
      planned.strip_weights = std::max(planned.strip_weights, layout.offset(strip.last) - layout.offset(strip.first));
      tile = strip.last;
    }
    patterns_.push_back(std::move(planned));
  }

  const DiffusionParams<S>& params_;
  std::vector<PlannedPattern> patterns_;
  std::vector<int64_t> pattern_of_, weights_begin_;  ///< by sequence
};

}  // namespace longspan::kernels::diffusion
