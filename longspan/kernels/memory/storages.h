// The number formats that the kernels are built for.
#pragma once

#include "longspan/base/bfloat16.h"

/// X(S, M) for each: q, out and their gradients lie in memory as S, m and its gradient as M (MemoryParams).
#define LONGSPAN_FOR_EACH_MEMORY_STORAGE(X) X(float, float) X(double, double) X(BFloat16, BFloat16) X(BFloat16, float)
