#include "longspan/data/window_sampler.h"

#include "longspan/base/check.h"
#include "longspan/base/rng.h"

namespace longspan {

namespace {
/// Keeps the sampler's streams apart from those of other users of the same seed ("wind" in ASCII).
constexpr uint64_t kPurpose = 0x77696E64;
}  // namespace

WindowSampler::WindowSampler(const TokenFile& tokens, int64_t n, uint64_t seed) : tokens_(tokens), n_(n), seed_(seed) {
  LONGSPAN_CHECK(n >= 1, "window sampler: length must be at least 1, got ", n);
  LONGSPAN_CHECK(n < tokens.size(), tokens.path(), ": a window of ", n, " tokens and its targets take ", n,
                 " + 1 tokens, but there are only ", tokens.size());
}

int64_t WindowSampler::start(int64_t step, int64_t row) const {
  Rng rng(seed_, stream_of({kPurpose, static_cast<uint64_t>(step), static_cast<uint64_t>(row)}));
  return static_cast<int64_t>(rng.below(static_cast<uint64_t>(tokens_.size() - n_)));
}

void WindowSampler::fill(int64_t* out, int64_t step, int64_t batch) const {
  for (int64_t row = 0; row < batch; ++row) tokens_.copy_to(out + row * window(), start(step, row), window());
}

}  // namespace longspan
