#include "longspan/kernels/memory/plan.h"

namespace longspan::kernels::memory {
namespace {

// A split causal forward computes the projections twice: it pays when whole sequences keep less than this part of the
// workers busy.
constexpr double kSplitBelow = 0.75;

}  // namespace

Plan::Plan(int64_t sequences, const Segments& segments, const int64_t* count, int64_t heads, int workers)
    : segments_(segments), count_(count) {
  chunk_base_.reserve(sequences + 1);
  chunk_base_.push_back(0);
  int64_t longest = 0;
  int64_t merged_rows = 0;
  bool merging = false;
  const auto end_task = [&] { task_begin_.push_back(static_cast<int64_t>(items_.size())); };
  end_task();
  for (int64_t s = 0; s < sequences; ++s) {
    const int64_t n = rows(s);
    const int64_t chunks = n == 0 ? 0 : (start(s) % kMemoryChunk + n + kMemoryChunk - 1) / kMemoryChunk;
    chunk_base_.push_back(chunk_base_.back() + chunks);
    total_rows_ += n;
    longest = std::max(longest, n);
    if (chunks <= kItemChunks) {
      // A sequence joins the item before it until that holds as many rows as a cut of a long one.
      if (merging && merged_rows + n <= kItemChunks * kMemoryChunk) {
        items_.back().sequence_end = s + 1;
        merged_rows += n;
      } else {
        items_.push_back({s, s + 1, 0, -1});
        end_task();
        merging = true;
        merged_rows = n;
      }
      continue;
    }
    merging = false;
    for (int64_t k = 0; k < chunks; k += kItemChunks)
      items_.push_back({s, s + 1, k, std::min(chunks, k + kItemChunks)});
    end_task();
  }

  const int64_t whole = tasks() * heads;
  if (workers == 1 || whole == 0 || static_cast<int64_t>(items_.size()) == tasks()) return;
  const double total = static_cast<double>(total_rows_) * heads;
  const double rounds = static_cast<double>((whole + workers - 1) / workers);
  const double makespan = std::max(rounds * total / whole, static_cast<double>(longest));
  split_ = total / (makespan * workers) < kSplitBelow;
  if (!split_) return;
  task_begin_.clear();
  for (std::size_t i = 0; i <= items_.size(); ++i) task_begin_.push_back(static_cast<int64_t>(i));
}

}  // namespace longspan::kernels::memory
