// Errors of the layers below torch as torch's own.
#pragma once

#include <c10/util/Exception.h>

#include "longspan/base/check.h"

namespace longspan::ops {

/// Runs `f`; an InputError becomes a c10::ValueError (ValueError in Python) with the same line.
template <class F>
auto with_value_errors(const F& f) {
  try {
    return f();
  } catch (const InputError& error) {
    TORCH_CHECK_VALUE(false, error.what());
  }
}

}  // namespace longspan::ops
