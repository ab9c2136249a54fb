// A program without LibTorch: causal local attention of one head over three positions, and the reader of datasets, which
// needs the libraries that longspan::core brings along.
#include <cmath>
#include <cstdio>
#include <vector>

#include "longspan/base/parallel.h"
#include "longspan/data/dataset.h"
#include "longspan/kernels/local/local.h"
#include "longspan/simd/target.h"

int main() {
  const int64_t length = 3, width = 2;
  const std::vector<double> q(length * width, 0.0), k(length * width, 1.0), v = {1, 2, 3, 4, 5, 6};
  std::vector<double> out(length * width), lse(length);

  longspan::kernels::LocalForward<double> run;
  run.sequences = 1;
  run.heads = 1;
  run.width = run.value_width = width;
  run.queries.rows = run.keys.rows = length;
  run.reach_left = 1;
  run.q = {q.data(), 0, 0, width};
  run.k = {k.data(), 0, 0, width};
  run.v = {v.data(), 0, 0, width};
  run.out = {out.data(), 0, 0, width};
  run.lse = {lse.data(), 0, 0, 1};
  longspan::kernels::local_forward(run, longspan::SerialParallel());

  // Equal scores: each position reads the mean of itself and the one before.
  const std::vector<double> expected = {1, 2, 2, 3, 4, 5};
  for (size_t i = 0; i < expected.size(); ++i) {
    if (std::abs(out[i] - expected[i]) > 1e-12) {
      std::printf("consumer_core: out[%zu]: expected %g, got %g\n", i, expected[i], out[i]);
      return 1;
    }
  }
  if (longspan::Dataset::is_dataset("no-such-folder")) {
    std::printf("consumer_core: found a dataset where there is none\n");
    return 1;
  }
  std::printf("consumer_core: ok on %s\n", longspan::simd::active_target().c_str());
}
