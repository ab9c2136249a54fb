// What a task of the backward pass has for the heads that it works.
#pragma once

#include <vector>

#include "longspan/kernels/diffusion/panels.h"

namespace longspan::kernels::diffusion {

template <class T>
struct BackwardScratch {
  Panel<T> keys, values, queries, dkeys, dvalues, dqueries;
  std::vector<Panel<T>> states;     ///< before each hop, or two of them
  std::vector<Panel<T>> gradients;  ///< of the states, or two of them
  Buffer<T> weights, dots, dropped, by_key;
  std::vector<char> there;
};

}  // namespace longspan::kernels::diffusion
