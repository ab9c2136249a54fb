// Which instruction set the kernels run on: chosen at run time, and forced by LONGSPAN_SIMD or force_target().
#pragma once

#include <string>
#include <vector>

namespace longspan::simd {

/// Names of the targets built in that this processor runs, best first: "AVX3", "AVX2", "EMU128".
std::vector<std::string> available_targets();

/// The target that kernels run on. The first call reads the environment variable LONGSPAN_SIMD; throws InputError when
/// it names a target that is not available.
std::string active_target();

/// Makes every later kernel call use `name`; "" returns to the best available. Not to be called while kernels run.
/// Throws InputError for a target that is not available, with the ones that are.
void force_target(const std::string& name);

/// Every exported kernel calls this first, so that LONGSPAN_SIMD is obeyed from the first call on.
void ensure_target();

}  // namespace longspan::simd
