// The rate of fused multiply-adds of one core on the active SIMD target: what a kernel's rate is a fraction of.
#pragma once

namespace longspan::benchmarks {

/// Flops per second of independent chains of multiply-adds held in registers; a multiply-add counts as two.
double peak_float();
double peak_double();

}  // namespace longspan::benchmarks
