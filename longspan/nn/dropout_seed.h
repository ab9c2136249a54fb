// Seeds of the operators' dropout.
#pragma once

#include "longspan/nn/pch.h"

namespace longspan::nn {

/// A fresh seed for one call of an operator, drawn from torch's generator: int64, no dimensions, on the CPU.
at::Tensor dropout_seed();

}  // namespace longspan::nn
