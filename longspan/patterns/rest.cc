#include "longspan/patterns/rest.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "longspan/patterns/sampling.h"

namespace longspan::patterns {

namespace {

constexpr int64_t kRowsPerTask = 256;

struct Run {
  int64_t begin, end;
  auto operator<=>(const Run&) const = default;
};

/// What a worker needs for one row.
struct Scratch {
  Sampler sampler;
  std::vector<Run> runs;
  std::vector<int32_t> keys, whole_keys;
};

/// The keys of rows that some generators list one by one.
class Lists {
 public:
  Lists(const PatternOptions& options, const std::vector<Generator>& generators, const Structure& structure,
        const PatternInputs& inputs, const Parallel& parallel)
      : options_(options), structure_(structure), view_(structure.parts.view()) {
    const auto has = [&](Generator generator) {
      return std::find(generators.begin(), generators.end(), generator) != generators.end();
    };
    // A structure without single keys yet: an empty list for each row.
    empty_.assign(static_cast<std::size_t>(view_.n) + 1, 0);
    view_.rest = {view_.n, empty_.data(), nullptr};
    const int64_t n = view_.n;
    strided_ = has(Generator::strided) && options.l > 1;  // with 1 the band has them all
    if (has(Generator::uniform)) {
      const int64_t r = std::min(options.uniform_r, n);  // n of them are all keys already
      for (int64_t k = 1; k <= r; ++k) offsets_.push_back(k * n / (r + 1));
    }
    if (has(Generator::edges)) edges_ = inputs.edges;
    if (has(Generator::random) && options.random_mode == RandomMode::total)
      total_ = sample_pairs(n, options.causal, n * std::min(options.r, n), inputs.seed, inputs.layer, parallel);
  }

  const PatternView& view() const { return view_; }

  /// Whether no row can have anything.
  bool nothing() const {
    return offsets_.empty() && !strided_ && total_.size() == 0 && edges_ == nullptr &&
           structure_.loose_blocks.size() == 0;
  }

  /// Writes the structured keys of query i, which is no dense row, to `runs`, and the listed ones that are not among
  /// them to `keys`, both ascending.
  void row(int64_t i, std::vector<Run>& runs, std::vector<int32_t>& keys) const {
    runs.clear();
    for_each_run(view_, i, [&](PatternPiece, int64_t begin, int64_t end) { runs.push_back({begin, end}); });
    if (view_.block > 0) std::sort(runs.begin(), runs.end());
    keys.clear();
    const int64_t n = view_.n;
    for (const int64_t offset : offsets_) keys.push_back(static_cast<int32_t>((i + offset) % n));
    if (strided_)
      for (int64_t j = i - options_.l; j >= 0; j -= options_.l) keys.push_back(static_cast<int32_t>(j));
    if (edges_ != nullptr)
      for (const uint64_t pair : edges_->of_query(i)) keys.push_back(static_cast<int32_t>(pair & 0xFFFFFFFF));
    if (structure_.loose_blocks.size() > 0)
      for (const int64_t block : structure_.loose_blocks.row(i / view_.block))
        for (int64_t j = block * view_.block; j < std::min((block + 1) * view_.block, n); ++j)
          keys.push_back(static_cast<int32_t>(j));
    if (total_.size() > 0) keys.insert(keys.end(), total_.row(i).begin(), total_.row(i).end());
    if (keys.empty()) return;
    if (!std::is_sorted(keys.begin(), keys.end())) std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    auto run = runs.begin();
    std::erase_if(keys, [&](int32_t key) {
      if (view_.causal && key > i) return true;
      while (run != runs.end() && run->end <= key) ++run;
      return run != runs.end() && run->begin <= key;
    });
  }

 private:
  const PatternOptions& options_;
  const Structure& structure_;
  PatternView view_;
  std::vector<int64_t> empty_;
  std::vector<int64_t> offsets_;  ///< of uniform, ascending
  bool strided_ = false;
  const EdgeList* edges_ = nullptr;
  Csr total_;  ///< drawn from all pairs
};

class Rows {
 public:
  Rows(const PatternOptions& options, const Structure& structure, const Structure& whole, const PatternInputs& inputs,
       const Parallel& parallel)
      : inputs_(inputs), lists_(options, generators_left(options, inputs), structure, inputs, parallel) {
    const std::vector<Generator> left = generators_left(options, inputs);
    if (std::find(left.begin(), left.end(), Generator::random) == left.end()) return;
    if (options.random_mode != RandomMode::per_row) return;
    drawn_ = options.r;
    if (!inputs.without.empty()) whole_.emplace(options, generators_of(options), whole, inputs, parallel);
  }

  /// Whether no row can have anything.
  bool nothing() const { return drawn_ == 0 && lists_.nothing(); }

  /// The keys of query i below `n`, ascending, into scratch.keys.
  void row(int64_t i, int64_t n, Scratch& scratch) const {
    std::vector<int32_t>& keys = scratch.keys;
    keys.clear();
    if (lists_.view().is_dense_row(i)) return;
    lists_.row(i, scratch.runs, keys);
    const auto listed = static_cast<std::ptrdiff_t>(keys.size());
    if (drawn_ > 0 && !whole_) draw(i, scratch, keys);
    if (drawn_ > 0 && whole_ && !whole_->view().is_dense_row(i)) {
      whole_->row(i, scratch.runs, scratch.whole_keys);
      draw(i, scratch, scratch.whole_keys);
    }
    std::inplace_merge(keys.begin(), keys.begin() + listed, keys.end());
    if (n < lists_.view().n)
      keys.erase(std::lower_bound(keys.begin(), keys.end(), static_cast<int32_t>(n)), keys.end());
  }

 private:
  /// Adds to scratch.keys random keys among those that query i has neither in scratch.runs nor in `listed` (which may
  /// be scratch.keys): numbers of free keys, then, in one walk, the keys they stand for.
  void draw(int64_t i, Scratch& scratch, const std::vector<int32_t>& listed) const {
    std::vector<Run>& runs = scratch.runs;
    if (!listed.empty()) {
      for (const int32_t key : listed) runs.push_back({key, int64_t{key} + 1});
      std::sort(runs.begin(), runs.end());
    }
    const int64_t end = lists_.view().causal ? i : lists_.view().n;  // those of a causal pattern lie before the query
    int64_t free = end;
    for (const Run& run : runs) free -= std::max<int64_t>(0, std::min(run.end, end) - std::min(run.begin, end));
    Draws draws(inputs_.seed, Purpose::row_keys, inputs_.layer, i);
    const std::vector<int32_t>& numbers = scratch.sampler.sample(draws, free, drawn_);
    int64_t before = 0;  // keys that query i has below the one looked for
    auto run = runs.begin();
    for (const int32_t number : numbers) {
      for (; run != runs.end() && run->begin <= number + before; ++run) before += run->end - run->begin;
      scratch.keys.push_back(static_cast<int32_t>(number + before));
    }
  }

  const PatternInputs& inputs_;
  Lists lists_;
  std::optional<Lists> whole_;  ///< of all generators, where some have left and random keys have not
  int64_t drawn_ = 0;           ///< random keys for each row
};

}  // namespace

Csr make_rest(const PatternOptions& options, const Structure& structure, const Structure& whole, int64_t rows,
              const PatternInputs& inputs, const Parallel& parallel, int64_t first) {
  Csr out;
  out.begin.assign(static_cast<std::size_t>(rows) + 1, 0);
  const Rows source(options, structure, whole, inputs, parallel);
  if (source.nothing()) return out;
  const int64_t tasks = (rows + kRowsPerTask - 1) / kRowsPerTask;
  std::vector<Scratch> scratch(static_cast<std::size_t>(parallel.workers()));
  std::vector<std::vector<int32_t>> found(static_cast<std::size_t>(tasks));
  parallel.run(tasks, [&](int64_t task, int worker) {
    Scratch& own = scratch[static_cast<std::size_t>(worker)];
    std::vector<int32_t>& keys = found[static_cast<std::size_t>(task)];
    for (int64_t i = std::max(task * kRowsPerTask, first); i < std::min((task + 1) * kRowsPerTask, rows); ++i) {
      source.row(i, rows, own);
      keys.insert(keys.end(), own.keys.begin(), own.keys.end());
      out.begin[static_cast<std::size_t>(i) + 1] = static_cast<int64_t>(own.keys.size());
    }
  });
  std::partial_sum(out.begin.begin(), out.begin.end(), out.begin.begin());
  out.keys.resize(static_cast<std::size_t>(out.begin.back()));
  parallel.run(tasks, [&](int64_t task, int) {
    auto& keys = found[static_cast<std::size_t>(task)];
    std::copy(keys.begin(), keys.end(), out.keys.begin() + out.begin[static_cast<std::size_t>(task * kRowsPerTask)]);
    std::vector<int32_t>().swap(keys);
  });
  return out;
}

}  // namespace longspan::patterns
