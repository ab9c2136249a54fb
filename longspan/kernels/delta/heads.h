// What the calls (calls.cc) pass to the code of one SIMD target: one sequence and head at a time.
#pragma once

#include <cstdint>

#include "longspan/kernels/delta/chunk.h"
#include "longspan/kernels/delta/gradient_scratch.h"

namespace longspan::kernels::delta {

/// segments: [segments of the sequence][R][D], or null.
void forward_head(const DeltaForward<float>& p, int64_t s, int64_t h, float* segments, ChunkScratch<float>& scratch);
void forward_head(const DeltaForward<double>& p, int64_t s, int64_t h, double* segments, ChunkScratch<double>& scratch);
void forward_head(const DeltaForward<BFloat16>& p, int64_t s, int64_t h, float* segments, ChunkScratch<float>& scratch);

/// segments: of the forward pass, or null.
void backward_head(const DeltaBackward<float>& p, int64_t s, int64_t h, const float* segments,
                   GradientScratch<float>& scratch);
void backward_head(const DeltaBackward<double>& p, int64_t s, int64_t h, const double* segments,
                   GradientScratch<double>& scratch);
void backward_head(const DeltaBackward<BFloat16>& p, int64_t s, int64_t h, const float* segments,
                   GradientScratch<float>& scratch);

}  // namespace longspan::kernels::delta
