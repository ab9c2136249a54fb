// The rolling experiment (specification B.11): does a layer care where in the text a token stands?
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "longspan/nn/pch.h"

namespace longspan::nn {

/// 0, 1, 2, 4, ... up to n / 2.
std::vector<int64_t> rolling_shifts(int64_t n);

/// How a text stands in a ring of slots: token t in slot (t + shift) mod slots, padding in the others.
struct Rolling {
  int64_t shift = 0;  ///< at least 0
  int64_t slots = 0;  ///< at least as many as a text has tokens; 0: exactly as many

  int64_t slot_of(int64_t token, int64_t n) const;
  /// How many of the n tokens have gone over the end and stand in front: in the order of the slots the text is its last
  /// so many tokens and then the others.
  int64_t in_front(int64_t n) const;
};

/// What of a sparse pattern goes with a text that is rolled.
enum class PatternRoll {
  none,           ///< pairs are pairs of places: a token meets others where it stands now
  global_tokens,  ///< a token that saw all still does, wherever it stands
  all,            ///< every pair
};

/// ||roll(f(roll(x, s), s), -s) - f(x, 0)|| / ||f(x, 0)|| for each shift s, where roll(x, s) moves the rows of x
/// [B, N, E] s places on, those at the end to the front. 0 where the layer treats all places alike; 0 too where f(x, 0)
/// is 0.
std::vector<double> rolling_errors(const std::function<at::Tensor(const at::Tensor& x, int64_t shift)>& f,
                                   const at::Tensor& x, const std::vector<int64_t>& shifts,
                                   const std::function<void(int64_t done)>& on_shift = {});

}  // namespace longspan::nn
