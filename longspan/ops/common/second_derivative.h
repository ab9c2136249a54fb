// Kernels have one derivative.
#pragma once

#include <c10/util/Exception.h>

namespace longspan::ops {

/// What the backward pass of a backward operator does, so that a second derivative is an error and not silently wrong.
[[noreturn]] inline void refuse_second_derivative(const char* op) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      false, op, ": expected one derivative, got a second one; the backends composed and reference have it");
}

}  // namespace longspan::ops
