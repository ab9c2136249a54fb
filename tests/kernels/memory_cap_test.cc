// The working sets of the kernels: no tensor of rows * slots * width. Every byte that passes through operator new is
// counted, which this program therefore replaces.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

#include "longspan/base/aligned.h"
#include "longspan/kernels/delta/delta_memory.h"
#include "longspan/kernels/diffusion/diffusion.h"
#include "longspan/kernels/local/local.h"
#include "longspan/kernels/memory/memory.h"
#include "longspan/patterns/build.h"

namespace {

std::atomic<int64_t> live_bytes{0};
std::atomic<int64_t> peak_bytes{0};

/// The size stands in front of the block, in as many bytes as the alignment.
void* allocate(std::size_t size, std::size_t alignment) noexcept {
  alignment = std::max(alignment, alignof(std::max_align_t));
  const std::size_t total = (size + 2 * alignment - 1) / alignment * alignment;
  char* block = static_cast<char*>(std::aligned_alloc(alignment, total));
  if (block == nullptr) return nullptr;
  char* data = block + alignment;
  std::memcpy(data - sizeof size, &size, sizeof size);
  const int64_t live = live_bytes += static_cast<int64_t>(size);
  int64_t peak = peak_bytes;
  while (peak < live && !peak_bytes.compare_exchange_weak(peak, live)) {
  }
  return data;
}
void* allocate_or_throw(std::size_t size, std::size_t alignment) {
  if (void* data = allocate(size, alignment)) return data;
  throw std::bad_alloc();
}
void release(void* data, std::size_t alignment) noexcept {
  if (data == nullptr) return;
  alignment = std::max(alignment, alignof(std::max_align_t));
  std::size_t size = 0;
  std::memcpy(&size, static_cast<char*>(data) - sizeof size, sizeof size);
  live_bytes -= static_cast<int64_t>(size);
  std::free(static_cast<char*>(data) - alignment);
}
std::size_t bytes(std::align_val_t alignment) { return static_cast<std::size_t>(alignment); }

}  // namespace

void* operator new(std::size_t n) { return allocate_or_throw(n, 1); }
void* operator new[](std::size_t n) { return allocate_or_throw(n, 1); }
void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return allocate(n, 1); }
void* operator new[](std::size_t n, const std::nothrow_t&) noexcept { return allocate(n, 1); }
void* operator new(std::size_t n, std::align_val_t a) { return allocate_or_throw(n, bytes(a)); }
void* operator new[](std::size_t n, std::align_val_t a) { return allocate_or_throw(n, bytes(a)); }
void operator delete(void* p) noexcept { release(p, 1); }
void operator delete[](void* p) noexcept { release(p, 1); }
void operator delete(void* p, std::size_t) noexcept { release(p, 1); }
void operator delete[](void* p, std::size_t) noexcept { release(p, 1); }
void operator delete(void* p, std::align_val_t a) noexcept { release(p, bytes(a)); }
void operator delete[](void* p, std::align_val_t a) noexcept { release(p, bytes(a)); }
void operator delete(void* p, std::size_t, std::align_val_t a) noexcept { release(p, bytes(a)); }
void operator delete[](void* p, std::size_t, std::align_val_t a) noexcept { release(p, bytes(a)); }

namespace longspan::kernels {
namespace {

/// Peak of the live bytes while `call` runs, what was live before it included.
template <class Call>
int64_t peak_during(const Call& call) {
  peak_bytes = live_bytes.load();
  call();
  return peak_bytes;
}

TEST(MemoryCap, CountsPlainAndAlignedMemory) {
  const int64_t before = live_bytes;
  const int64_t peak = peak_during([] {
    const std::vector<float> plain(1000);
    const AlignedBuffer<float> aligned(1000);
  });
  EXPECT_GE(peak - before, 8000);
  EXPECT_EQ(live_bytes, before);
}

// Local attention feeds its output to the memory, as LAVO does: float32, one head, inputs and outputs counted too.
TEST(MemoryCap, ForwardStaysBelow32BytesForEachElementOfARow) {
  constexpr int64_t n = 65536, slots = 64, width = 64, window = 64;
  constexpr int64_t cap = 32 * n * (slots + width);
  static_assert(cap < n * slots * width * int64_t{sizeof(float)}, "the forbidden tensor would pass");
  const ThreadPool pool(4);
  for (const Parallel* parallel : {static_cast<const Parallel*>(&pool), static_cast<const Parallel*>(nullptr)}) {
    const SerialParallel serial;
    const Parallel& workers = parallel ? *parallel : serial;
    const int64_t before = live_bytes;
    float checked = 0;
    const int64_t peak = peak_during([&] {
      std::vector<float> q(n * width), k(n * width), v(n * width), local(n * width), out(n * width), lse(n);
      std::vector<float> table(2 * window - 1, 0.0f), basis(slots * width, 0.0f);
      for (int64_t i = 0; i < n * width; ++i) {
        q[i] = static_cast<float>(i % 7) * 0.25f - 0.75f;
        k[i] = static_cast<float>(i % 5) * 0.25f - 0.5f;
        v[i] = static_cast<float>(i % 11) * 0.125f;
      }
      for (int64_t i = 0; i < slots; ++i) basis[i * width + i] = 1;

      LocalForward<float> attend;
      attend.sequences = attend.heads = 1;
      attend.width = attend.value_width = width;
      attend.queries = attend.keys = {nullptr, n};
      attend.reach_left = window - 1;
      attend.scale = 0.125;
      attend.q = {q.data(), n * width, n * width, width};
      attend.k = {k.data(), n * width, n * width, width};
      attend.v = {v.data(), n * width, n * width, width};
      attend.table = table.data();
      attend.table_centre = window - 1;
      attend.out = {local.data(), n * width, n * width, width};
      attend.lse = {lse.data(), n, n, 1};
      local_forward(attend, workers);

      MemoryForward<float> remember;
      remember.sequences = remember.heads = 1;
      remember.slots = slots;
      remember.width = width;
      remember.queries = remember.sources = {nullptr, n};
      remember.q = attend.q;
      remember.m = {local.data(), n * width, n * width, width};
      remember.basis = basis.data();
      remember.out = {out.data(), n * width, n * width, width};
      memory_forward(remember, workers);
      checked = *std::max_element(out.begin(), out.end());
    });
    EXPECT_LE(peak - before, cap);
    EXPECT_GT(checked, 0.0f);  // it ran: means of positive values
  }
}

/// Bytes that a forward and a backward call of one configuration need beside their operands.
template <class S, class M>
int64_t working_set(const MemoryForward<S, M>& options, int64_t n, int64_t heads, const Parallel& workers) {
  constexpr int64_t slots = 64, width = 64;
  const int64_t features = options.feature_heads == 0 ? heads : options.feature_heads;
  std::vector<S> q(n * heads * width, S(0.5f)), out = q, dout = q, dq = q;
  std::vector<M> m(n * features * width, M(0.25f)), dm = m;
  std::vector<Computed<S>> basis(slots * width, 0), dbasis(slots * width);
  for (int64_t i = 0; i < slots; ++i) basis[i * width + i] = 1;
  const auto set = [&](auto& p) {
    p.sequences = 1, p.heads = heads, p.feature_heads = features, p.slots = slots, p.width = width;
    p.causal = options.causal, p.window = options.window, p.dropout = options.dropout;
    p.queries = p.sources = {nullptr, n};
    p.q = {q.data(), 0, n * width, width};
    p.m = {m.data(), 0, n * width, width};
    p.basis = basis.data();
  };
  MemoryForward<S, M> forward;
  set(forward);
  forward.accumulator = options.accumulator;
  forward.out = {out.data(), 0, n * width, width};
  MemoryBackward<S, M> backward;
  set(backward);
  backward.dout = {dout.data(), 0, n * width, width};
  backward.dq = {dq.data(), 0, n * width, width};
  backward.dm = {dm.data(), 0, n * width, width};
  backward.dbasis = dbasis.data();
  const int64_t before = live_bytes;
  return peak_during([&] {
           memory_forward(forward, workers);
           memory_backward(backward, workers);
         }) -
         before;
}

// Less than half of one float32 tensor of q's size, so that no form copies an operand or widens one.
template <class S, class M>
void check_working_sets() {
  constexpr int64_t n = 32768, heads = 2, cap = n * heads * 64 * int64_t{sizeof(float)} / 2;
  const ThreadPool pool(2);
  std::vector<MemoryForward<S, M>> forms(7);
  forms[1].causal = false;
  forms[2].window = 100;
  forms[3].window = 5000;
  forms[4].feature_heads = 1;
  forms[5].accumulator = Accumulator::float32_compensated;
  forms[6].dropout = {0.1, 1};
  for (std::size_t i = 0; i < forms.size(); ++i) EXPECT_LE(working_set(forms[i], n, heads, pool), cap) << "form " << i;
}

TEST(MemoryCap, NoFormCopiesAnOperand) {
  check_working_sets<float, float>();
  check_working_sets<BFloat16, BFloat16>();
  check_working_sets<BFloat16, float>();
}

/// What a call of delta memory needs beside its operands and results: forward, and backward without kept segments.
template <class S>
struct DeltaPeaks {
  int64_t forward, backward;

  DeltaPeaks(int64_t n, int64_t slots, int64_t width, DeltaDecay decay, bool delta, const Parallel& workers) {
    using T = Computed<S>;
    std::vector<S> q(n * slots, S(0.1f)), v(n * width, S(0.5f)), out = v, dq = q, dk = q, dv = v;
    const int64_t decays = decay == DeltaDecay::slot ? slots : 1;
    std::vector<T> beta(n, T(0.5)), log_alpha(n * decays, T(-0.1)), dbeta = beta, dlog_alpha = log_alpha;
    const auto set = [&](auto& p) {
      p.sequences = p.heads = 1, p.slots = slots, p.width = width, p.delta = delta, p.decay = decay;
      p.rows = {nullptr, n};
      p.q = p.k = {q.data(), n * slots, n * slots, slots};
      p.v = {v.data(), n * width, n * width, width};
      p.beta = {beta.data(), n, n, 1};
      p.log_alpha = {log_alpha.data(), n * decays, n * decays, decays};
    };
    DeltaForward<S> p;
    set(p);
    p.out = {out.data(), n * width, n * width, width};
    DeltaBackward<S> b;
    set(b);
    b.dout = b.v;
    b.dq = {dq.data(), n * slots, n * slots, slots};
    b.dk = {dk.data(), n * slots, n * slots, slots};
    b.dv = {dv.data(), n * width, n * width, width};
    b.dbeta = {dbeta.data(), n, n, 1};
    b.dlog_alpha = {dlog_alpha.data(), n * decays, n * decays, decays};
    const int64_t before = live_bytes;
    forward = peak_during([&] { delta_forward(p, workers); }) - before;
    backward = peak_during([&] { delta_backward(b, workers); }) - before;
  }
};

// Scratch of a chunk forward; backward that, the states before the segments, R D / 256 numbers a row, and a segment's
// states and rows. Everything but the segments' states is the same for any length.
template <class S>
void check_delta_memory(DeltaDecay decay, bool delta) {
  constexpr int64_t n = 65536, slots = 64, width = 64, number = sizeof(Computed<S>);
  SCOPED_TRACE(::testing::Message() << "decay " << static_cast<int>(decay) << " delta " << delta);
  const SerialParallel serial;
  const DeltaPeaks<S> some(n / 16, slots, width, decay, delta, serial), many(n, slots, width, decay, delta, serial);
  constexpr int64_t chunk = kDeltaChunk * (slots + width), state = slots * width;
  EXPECT_GT(some.forward, 0);
  EXPECT_EQ(many.forward, some.forward);
  EXPECT_LE(many.forward, number * (state + 10 * chunk + 4096));
  // The states that a backward pass starts from are a 256th of one tensor of rows * slots * width.
  const int64_t states = number * (n - n / 16) / (kDeltaChunk * kDeltaSegment) * state;
  EXPECT_LE(many.backward - some.backward, states + 4096);
  EXPECT_LE(some.backward, number * (n / 16 / 256 * state + 20 * state + 16 * 3 * chunk + 20 * chunk + 8192));
  EXPECT_LT(many.backward, number * n * slots * width / 200);
}
TEST(MemoryCap, DeltaMemoryFormsNothingOfRowsTimesSlotsTimesWidth) {
  for (const DeltaDecay decay : {DeltaDecay::none, DeltaDecay::scalar, DeltaDecay::slot})
    for (const bool delta : {true, false}) {
      check_delta_memory<float>(decay, delta);
      check_delta_memory<BFloat16>(decay, delta);
    }
}

// bfloat16 operands are widened as tiles are packed. Beyond operands and results there are the sums of keys near the
// borders of units, at most half of dk and dv in float32 and little with a short window; and scratch, below an eighth
// of one operand in float32.
void check_local_bfloat16(int64_t window, double part_of_gradients) {
  constexpr int64_t n = 65536, width = 64;
  std::vector<BFloat16> x(n * width, BFloat16(0.5f)), out(x), dq(x), dk(x), dv(x);
  std::vector<float> lse(n);
  const auto fill = [&](LocalParams<BFloat16>& p) {
    p.sequences = p.heads = 1;
    p.width = p.value_width = width;
    p.queries = p.keys = {nullptr, n};
    p.reach_left = window - 1;
    p.q = p.k = p.v = {x.data(), n * width, n * width, width};
  };
  const int64_t before = live_bytes;
  const int64_t peak = peak_during([&] {
    LocalForward<BFloat16> forward;
    fill(forward);
    forward.out = {out.data(), n * width, n * width, width};
    forward.lse = {lse.data(), n, n, 1};
    local_forward(forward, SerialParallel());
    LocalBackward<BFloat16> backward;
    fill(backward);
    backward.out = backward.dout = forward.q;
    backward.lse = {lse.data(), n, n, 1};
    backward.dq = {dq.data(), n * width, n * width, width};
    backward.dk = {dk.data(), n * width, n * width, width};
    backward.dv = {dv.data(), n * width, n * width, width};
    local_backward(backward, SerialParallel());
  });
  const double row = n * width * double{sizeof(float)};
  EXPECT_LT(static_cast<double>(peak - before), (2 * part_of_gradients + 0.125) * row) << "window " << window;
  EXPECT_EQ(static_cast<float>(out.back()), 0.5f);  // it ran
}
TEST(MemoryCap, LocalAttentionReadsBFloat16InPlace) {
  // Two rows of dk and dv for each of window - 1 keys in a unit of 512 positions.
  check_local_bfloat16(16, 2 * 15.0 / 512);
  for (const int64_t window : {100, 256, 1000}) check_local_bfloat16(window, 0.5);
}

/// What a forward and a backward call of diffusion need beside their operands and results.
struct DiffusionPeaks {
  int64_t forward, backward;
};
DiffusionPeaks diffusion_peaks(const patterns::Pattern& pattern, int64_t heads, int64_t hops,
                               DiffusionBackwardStates states, EdgeWeights edge_weights) {
  constexpr int64_t width = 64;
  const int64_t n = pattern.size();
  const DiffusionPattern view{pattern.view(), pattern.transposed()};
  std::vector<float> q(n * heads * width, 0.5f), out = q, dq = q, dk = q, dv = q, lse(n * heads);
  const std::vector<float> coefficients(2 * hops + 1, 0.5f);
  std::vector<float> dcoefficients = coefficients;
  AlignedBuffer<float> kept(edge_weights == EdgeWeights::stored ? heads * diffusion_weight_count(view.pattern) : 0);
  const auto set = [&](auto& p) {
    p.sequences = 1;
    p.heads = heads;
    p.width = p.value_width = width;
    p.hops = hops;
    p.rows = {nullptr, n};
    p.patterns = &view;
    p.coefficients = coefficients.data();
    p.edge_weights = edge_weights;
    p.q = p.k = p.v = {q.data(), n * heads * width, n * width, width};
    if (kept.size() > 0) p.weights = kept.data();
  };
  DiffusionForward<float> forward;
  set(forward);
  forward.out = {out.data(), n * heads * width, n * width, width};
  forward.lse = {lse.data(), n * heads, n, 1};
  DiffusionBackward<float> backward;
  set(backward);
  backward.backward = states;
  backward.dout = backward.q;
  backward.dq = {dq.data(), n * heads * width, n * width, width};
  backward.dk = {dk.data(), n * heads * width, n * width, width};
  backward.dv = {dv.data(), n * heads * width, n * width, width};
  backward.dcoefficients = dcoefficients.data();
  const int64_t before = live_bytes;
  const int64_t first = peak_during([&] { diffusion_forward(forward, SerialParallel()); }) - before;
  return {first, peak_during([&] { diffusion_backward(backward, SerialParallel()); }) - before};
}

// Of one worker: K states of N Dv numbers, dA of one head, a few panels of N numbers, whatever the number of heads.
TEST(MemoryCap, DiffusionFormsStatesAgainForOneHeadAtATime) {
  constexpr int64_t n = 4096, hops = 5, panel = n * 64 * int64_t{sizeof(float)};
  const patterns::Pattern pattern = patterns::build_pattern(patterns::pattern_options("table_s1"), n);
  const int64_t pairs = diffusion_weight_count(pattern.view()) * int64_t{sizeof(float)};
  // The layout's lists: a few numbers for each pair of the rest, and for each token.
  const int64_t lists = 4 * pattern.bytes();
  const auto slices = DiffusionBackwardStates::recompute_slices;
  const DiffusionPeaks one = diffusion_peaks(pattern, 1, hops, slices, EdgeWeights::stored);
  const DiffusionPeaks four = diffusion_peaks(pattern, 4, hops, slices, EdgeWeights::stored);
  EXPECT_LT(four.backward - one.backward, panel);
  EXPECT_LT(four.forward - one.forward, panel);
  // Keys, values, queries, their gradients, two gradients of states; dA, and the rest's weights by key.
  EXPECT_LT(one.backward, (hops + 8) * panel + 2 * pairs + lists);
  EXPECT_LT(one.forward, 5 * panel + pairs + lists);
  // Two states instead of K.
  const DiffusionPeaks two =
      diffusion_peaks(pattern, 1, hops, DiffusionBackwardStates::recompute_quadratic, EdgeWeights::stored);
  EXPECT_NEAR(static_cast<double>(one.backward - two.backward), static_cast<double>((hops - 2) * panel),
              0.5 * static_cast<double>(panel));
  // Strips of weights instead of a head's; gradients of all states instead of two.
  const DiffusionPeaks strips = diffusion_peaks(pattern, 1, hops, slices, EdgeWeights::recomputed);
  EXPECT_LT(strips.backward, (2 * hops + 7) * panel + pairs + lists);
}

}  // namespace
}  // namespace longspan::kernels
