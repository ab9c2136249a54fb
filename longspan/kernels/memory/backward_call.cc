// The backward calls: from the operands' types to the forms.
#include "longspan/kernels/memory/backward_call.h"

#include "longspan/kernels/memory/check.h"
#include "longspan/simd/target.h"

namespace longspan::kernels {
namespace {

template <class S, class M>
void run_backward(const MemoryBackward<S, M>& p, const Parallel& parallel) {
  memory::check_memory(p);
  simd::ensure_target();
  if (p.causal)
    memory::causal_backward(p, parallel);
  else
    memory::full_backward(p, parallel);
}

}  // namespace

void memory_backward(const MemoryBackward<float>& p, const Parallel& parallel) { run_backward(p, parallel); }
void memory_backward(const MemoryBackward<double>& p, const Parallel& parallel) { run_backward(p, parallel); }
void memory_backward(const MemoryBackward<BFloat16>& p, const Parallel& parallel) { run_backward(p, parallel); }
void memory_backward(const MemoryBackward<BFloat16, float>& p, const Parallel& parallel) { run_backward(p, parallel); }

}  // namespace longspan::kernels
