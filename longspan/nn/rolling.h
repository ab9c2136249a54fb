// The rolling experiment (specification B.11): does a layer care where in the text a token stands?
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "longspan/nn/pch.h"

namespace longspan::nn {

/// 0, 1, 2, 4, ... up to n / 2.
std::vector<int64_t> rolling_shifts(int64_t n);

/// ||roll(f(roll(x, s)), -s) - f(x)|| / ||f(x)|| for each shift s, where roll(x, s) moves the rows of x [B, N, E] s
/// places on, those at the end to the front. 0 where the layer treats all places alike; 0 too where f(x) is 0.
std::vector<double> rolling_errors(const std::function<at::Tensor(const at::Tensor& x)>& f, const at::Tensor& x,
                                   const std::vector<int64_t>& shifts,
                                   const std::function<void(int64_t done)>& on_shift = {});

}  // namespace longspan::nn
