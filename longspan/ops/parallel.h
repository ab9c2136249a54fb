// The parallel interface over torch's own pool.
#pragma once

#include "longspan/base/parallel.h"

namespace longspan::ops {

/// Runs tasks on torch's intra-op threads (torch::set_num_threads). Tasks are handed out one by one, so uneven ones
/// balance; a call from inside a parallel region of torch runs serially.
const Parallel& torch_parallel();

}  // namespace longspan::ops
