#include "longspan/nn/diffuser_patterns.h"

#include <algorithm>
#include <mutex>
#include <tuple>
#include <utility>

#include "longspan/ops/diffusion/diffusion.h"
#include "longspan/ops/parallel.h"
#include "longspan/patterns/build.h"

namespace longspan::nn {
namespace {

constexpr int64_t kTextBytes = int64_t{1} << 30, kPieceBytes = int64_t{1} << 26;
constexpr std::size_t kMostTexts = 4096, kMostPieces = 512;

int64_t keys_of(const PatternView& pattern, int64_t i) {
  int64_t count = 0;
  for_each_run(pattern, i, [&](PatternPiece, int64_t begin, int64_t end) { count += end - begin; });
  return count;
}

/// Queries before `first`, the token at `position`, have no keys by design.
DiffuserPatterns::Entry entry_of(const patterns::Pattern& pattern, int64_t first, int64_t position) {
  DiffuserPatterns::Entry out;
  out.tensor = ops::pattern_tensor(pattern);
  out.pairs = pattern.pairs();
  const PatternView view = pattern.view();
  for (int64_t i = first; i < view.n && out.empty_row < 0; ++i)
    if (keys_of(view, i) == 0) out.empty_row = i - first + position;
  return out;
}

int64_t bytes_of(const PatternEntry& entry) {
  return static_cast<int64_t>(entry.tensor.nbytes() + (entry.rows ? entry.rows->size() * sizeof(int64_t) : 0));
}

/// Both tokens of every pair `shift` places on, round n.
patterns::Pattern rolled_pairs(const patterns::Pattern& pattern, int64_t n, int64_t shift) {
  const patterns::Csr pairs = pattern.csr(ops::torch_parallel());
  std::vector<int64_t> begin = {0}, keys;
  keys.reserve(pairs.keys.size());
  for (int64_t i = 0; i < n; ++i) {
    for (const int32_t j : pairs.row((i - shift + n) % n)) keys.push_back((j + shift) % n);
    begin.push_back(static_cast<int64_t>(keys.size()));
  }
  const patterns::EdgeList edges = patterns::edges_from_csr(begin, keys, "rolled pattern", n);
  patterns::PatternOptions options = patterns::pattern_options("edges");
  options.self_loops = false;  // those there are stand among the pairs
  return patterns::build_pattern(options, n, {.edges = &edges}, ops::torch_parallel());
}

/// Options whose pattern of n tokens is the first n of the padded one.
patterns::PatternOptions without_padding(patterns::PatternOptions options, int64_t n) {
  if (!options.pad_to_window) return options;
  const int64_t padded = patterns::padded_length(options, n);
  options.pad_to_window = false;
  if (options.fit == patterns::Fit::cut || options.causal) return options;  // what follows changes nothing before
  options.fit = patterns::Fit::cut;
  options.max_len = std::max(padded, options.w);
  return options;
}

}  // namespace

PatternMemory::PatternMemory(int64_t text_bytes, int64_t piece_bytes)
    : texts_(text_bytes, kMostTexts), pieces_(piece_bytes, kMostPieces) {}

const std::shared_ptr<PatternMemory>& PatternMemory::of_process() {
  static const auto memory = std::make_shared<PatternMemory>(kTextBytes, kPieceBytes);
  return memory;
}

int64_t PatternMemory::bytes() const { return texts_.kept(bytes_of) + pieces_.kept(bytes_of); }

DiffuserPatterns::DiffuserPatterns(patterns::PatternOptions options, std::vector<patterns::Generator> without,
                                   uint64_t seed, int64_t layer, std::optional<patterns::EdgeList> edges,
                                   std::shared_ptr<PatternMemory> memory)
    : options_(std::move(options)),
      left_(patterns::without_generators(options_, without)),
      without_(std::move(without)),
      seed_(seed),
      layer_(layer),
      edges_(std::move(edges)),
      memory_(std::move(memory)),
      owner_(memory_->owners_++) {}

DiffuserPatterns::~DiffuserPatterns() {
  const auto own = [this](const PatternMemory::Key& key) { return std::get<0>(key) == owner_; };
  memory_->texts_.erase_if(own);
  memory_->pieces_.erase_if(own);
}

bool DiffuserPatterns::makes(const patterns::PatternOptions& options, const std::vector<patterns::Generator>& without,
                             uint64_t seed, int64_t layer, const std::optional<patterns::EdgeList>& edges) const {
  if (options_ != options || without_ != without || seed_ != seed || layer_ != layer) return false;
  return edges_.has_value() == edges.has_value() &&
         (!edges || (edges_->n == edges->n && edges_->pairs == edges->pairs));
}

patterns::PatternInputs DiffuserPatterns::inputs(const GlobalTokens& global) const {
  return {.seed = seed_,
          .layer = layer_,
          .global_tokens = global,
          .edges = edges_ ? &*edges_ : nullptr,
          .without = without_};
}

patterns::Pattern DiffuserPatterns::build(int64_t n, const GlobalTokens& global) const {
  return patterns::build_pattern(without_padding(options_, n), n, inputs(global), ops::torch_parallel());
}

DiffuserPatterns::Entry DiffuserPatterns::of_length(int64_t n, const GlobalTokens& global) {
  return memory_->texts_.get(
      key(Kind::text, n, 0, global), [&] { return entry_of(build(n, global), 0, 0); }, bytes_of);
}

DiffuserPatterns::Entry DiffuserPatterns::rolled(int64_t n, const GlobalTokens& global, PatternRoll what,
                                                 int64_t shift) {
  if (what == PatternRoll::none || shift == 0) return of_length(n, global);
  if (what == PatternRoll::all)
    return memory_->texts_.get(
        key(Kind::rolled, n, shift, global), [&] { return entry_of(rolled_pairs(build(n, global), n, shift), 0, 0); },
        bytes_of);
  const bool ablated = std::find(without_.begin(), without_.end(), patterns::Generator::global) != without_.end();
  if (ablated) return of_length(n, global);  // there is nothing to roll
  std::vector<int64_t> tokens;
  if (global) {
    tokens = *global;
  } else {
    const patterns::Pattern pattern = ops::pattern_of_tensor(of_length(n).tensor);
    const PatternView view = pattern.view();
    tokens.assign(view.dense_rows, view.dense_rows + view.dense_row_count);
  }
  for (int64_t& token : tokens) token = (token + shift) % n;
  std::sort(tokens.begin(), tokens.end());
  return of_length(n, tokens);
}

DiffuserPatterns::Entry DiffuserPatterns::continued(int64_t n, int64_t count) {
  const auto make = [&] {
    const patterns::KeptTokens past = kept(n);
    patterns::SeenPast seen = patterns::seen_past(
        patterns::continued_pattern(options_, past, count, inputs(), ops::torch_parallel()), past.size());
    const auto rows = static_cast<int64_t>(seen.rows.size());
    Entry out = entry_of(seen.pattern, rows, n);
    if (rows < past.size()) out.rows = std::move(seen.rows);
    return out;
  };
  return memory_->pieces_.get(key(Kind::piece, n, count), make, bytes_of);
}

patterns::KeptTokens DiffuserPatterns::kept(int64_t n) const { return patterns::kept_tokens(options_, n, inputs()); }

int64_t DiffuserPatterns::pairs(int64_t queries, int64_t n) const {
  const patterns::Pattern pattern = build(n, std::nullopt);
  if (queries >= n) return pattern.pairs();
  int64_t out = 0;
  for (int64_t i = n - queries; i < n; ++i) out += keys_of(pattern.view(), i);
  return out;
}

std::shared_ptr<DiffuserPatterns> shared_diffuser_patterns(const patterns::PatternOptions& options,
                                                           const std::vector<patterns::Generator>& without,
                                                           uint64_t seed, int64_t layer,
                                                           std::optional<patterns::EdgeList> edges) {
  static std::mutex mutex;
  static std::vector<std::weak_ptr<DiffuserPatterns>> made;
  const std::lock_guard lock(mutex);
  std::erase_if(made, [](const auto& entry) { return entry.expired(); });
  for (const auto& weak : made)
    if (auto found = weak.lock(); found && found->makes(options, without, seed, layer, edges)) return found;
  auto out = std::make_shared<DiffuserPatterns>(options, without, seed, layer, std::move(edges));
  made.emplace_back(out);
  return out;
}

}  // namespace longspan::nn
