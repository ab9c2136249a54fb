// Makes the fault that its argument names, for a sanitizer to report:
//   race      two workers of a pool run the kernel of local attention into one output at the same time
//   overflow  the kernel writes an output that is one element short
//   shift     a shift by more than the width of int
// Exit status 77 when this machine does not run the SIMD target of LONGSPAN_SIMD; 0 when nobody stopped it.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "longspan/base/parallel.h"
#include "longspan/kernels/local/local.h"
#include "longspan/simd/target.h"

namespace longspan {
namespace {

constexpr int64_t kRows = 40;
constexpr int64_t kWidth = 16;  // whole vectors on every target: what a masked store touches is not instrumented

/// One head with a window of 8 tokens; writes kRows * kWidth elements of out.
void attend(std::vector<float>& out) {
  const std::vector<float> operand(kRows * kWidth, 0.5f);
  std::vector<float> lse(kRows);
  kernels::LocalForward<float> p;
  p.sequences = p.heads = 1;
  p.width = p.value_width = kWidth;
  p.queries = p.keys = {nullptr, kRows};
  p.reach_left = 7;
  p.q = p.k = p.v = {operand.data(), kRows * kWidth, kRows * kWidth, kWidth};
  p.out = {out.data(), kRows * kWidth, kRows * kWidth, kWidth};
  p.lse = {lse.data(), kRows, kRows, 1};
  kernels::local_forward(p, SerialParallel());
}

/// Each worker waits until the other has begun, so that no order between their writes exists.
void race() {
  std::vector<float> out(kRows * kWidth);
  std::atomic<int> begun{0};
  ThreadPool(2).run(2, [&](int64_t, int) {
    ++begun;
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (begun < 2 && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
    attend(out);
  });
}

void overflow() {
  std::vector<float> out(kRows * kWidth - 1);
  attend(out);
}

int run(const std::string& fault) {
  const char* forced = std::getenv("LONGSPAN_SIMD");
  const auto available = simd::available_targets();
  if (forced != nullptr && std::find(available.begin(), available.end(), forced) == available.end()) return 77;
  if (fault == "race") race();
  if (fault == "overflow") overflow();
  if (fault == "shift") std::printf("%d\n", 1 << (40 + fault.size()));
  return 0;
}

}  // namespace
}  // namespace longspan

int main(int argc, char** argv) { return longspan::run(argc == 2 ? argv[1] : ""); }
