// Tasks on several threads, where that pays.
#pragma once

#include <cstdint>
#include <functional>

#include "longspan/base/parallel.h"

namespace longspan {

/// Runs `count` tasks as Parallel::run() does, on the calling thread alone (as worker 0, in order) when `flops`, the
/// whole work, is too little to be worth waking others.
void run_tasks(const Parallel& parallel, int64_t count, double flops, const std::function<void(int64_t, int)>& task);

}  // namespace longspan
