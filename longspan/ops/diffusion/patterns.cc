#include "longspan/ops/diffusion/patterns.h"

#include <ATen/ops/empty.h>
#include <c10/core/InferenceMode.h>
#include <torch/library.h>

#include <cstring>
#include <optional>

#include "longspan/base/check.h"
#include "longspan/base/recently_used.h"
#include "longspan/kernels/diffusion/diffusion.h"
#include "longspan/ops/common/check.h"
#include "longspan/ops/common/errors.h"
#include "longspan/ops/common/packing.h"
#include "longspan/ops/common/rows.h"
#include "longspan/ops/parallel.h"
#include "longspan/patterns/build.h"

namespace longspan::ops {

namespace diffuse {
namespace {

std::span<const int32_t> words_of(const at::Tensor& dense) {
  return {dense.const_data_ptr<int32_t>(), static_cast<std::size_t>(dense.numel())};
}

std::vector<int64_t> read_numbers(const at::Tensor& t) {
  const at::Tensor dense = t.contiguous();
  const int64_t* const first = dense.const_data_ptr<int64_t>();
  return {first, first + dense.numel()};
}

}  // namespace

bool have_values(const Patterns& patterns) {
  for (const at::Tensor& t : patterns.patterns)
    if (!has_values(t)) return false;
  return !patterns.pattern_of || has_values(*patterns.pattern_of);
}

LoadedPattern::LoadedPattern(const at::Tensor& words, const std::string& origin)
    : storage_(words.storage().getWeakStorageImpl()),
      sum_(patterns::intact_sum(words_of(words))),
      packed_(words_of(words), origin) {}

const kernels::DiffusionLayout& LoadedPattern::layout() const {
  std::call_once(once_, [&] {
    layout_.emplace(packed_.view(), packed_.transposed());
    layout_bytes_ = layout_->bytes();
  });
  return *layout_;
}

bool LoadedPattern::is_of(const at::Tensor& words) const {
  // The storage may be gone and its address another's.
  return storage_.lock().get() == words.storage().unsafeGetStorageImpl() &&
         patterns::intact_sum(words_of(words)) == sum_;
}

int64_t LoadedPattern::bytes() const {
  constexpr int64_t kListsBytes = 4 * int64_t{sizeof(int64_t)};  // first elements of four lists a token, at most
  return layout_bytes_ + kListsBytes * packed_.view().n;
}

namespace {

using Place = std::pair<const void*, int64_t>;  // words of a tensor

std::shared_ptr<const LoadedPattern> load_kept(const at::Tensor& words, const std::string& origin) {
  constexpr int64_t kBytes = int64_t{1} << 28;
  static RecentlyUsed<Place, std::shared_ptr<const LoadedPattern>> kept(kBytes);
  const Place place{words.const_data_ptr(), words.numel()};
  const auto get = [&] {
    return kept.get(
        place, [&] { return std::make_shared<const LoadedPattern>(words, origin); },
        [](const auto& pattern) { return pattern->bytes(); });
  };
  const auto found = get();
  if (found->is_of(words)) return found;
  kept.erase_if([&](const Place& other) { return other == place; });
  return get();
}

}  // namespace

LoadedPatterns::LoadedPatterns(const char* op, const Patterns& patterns, int64_t sequences, bool again) : op_(op) {
  with_value_errors([&] {
    for (std::size_t i = 0; i < patterns.patterns.size(); ++i) {
      const at::Tensor& given = patterns.patterns[i];
      words_.push_back(given.contiguous());
      const std::string origin = str_cat(op, ": patterns[", i, "]");
      loaded_.push_back(again && given.is_contiguous() && given.has_storage()
                            ? load_kept(words_.back(), origin)
                            : std::make_shared<const LoadedPattern>(words_.back(), origin));
    }
  });
  of_.assign(static_cast<std::size_t>(sequences), 0);
  if (!patterns.pattern_of) return;
  of_ = read_numbers(*patterns.pattern_of);
  for (std::size_t s = 0; s < of_.size(); ++s)
    TORCH_CHECK_VALUE(of_[s] >= 0 && of_[s] < count(), op, ": pattern_of: expected numbers from 0 to ", count() - 1,
                      ", got ", of_[s], " at index ", s);
}

int64_t LoadedPatterns::weights(int64_t first_row) const {
  std::vector<std::optional<int64_t>> known(loaded_.size());  // counting lays a pattern out: once for all its users
  int64_t sum = 0;
  for (const int64_t number : of_) {
    std::optional<int64_t>& count = known[static_cast<std::size_t>(number)];
    if (!count)
      count = first_row == 0 ? loaded(number).layout().weights()
                             : kernels::diffusion_weight_count((*this)[number].view(), first_row);
    sum += *count;
  }
  return sum;
}

void LoadedPatterns::check_sizes(int64_t tokens) const {
  for (int64_t s = 0; s < sequences(); ++s)
    TORCH_CHECK_VALUE(of(s).view().n == tokens, op_, ": patterns[", of_[static_cast<std::size_t>(s)],
                      "]: expected a pattern of ", tokens, " tokens, as many as batch row ", s, " has, got one of ",
                      of(s).view().n);
}

void LoadedPatterns::check_packing(const at::Tensor& cu, int64_t rows) const {
  if (readable_on_host(cu)) {
    const Borders borders = load_borders(op_, "cu_seqlens", cu, 1, rows);
    for (int64_t s = 0; s < sequences(); ++s)
      TORCH_CHECK_VALUE(of(s).view().n == borders.segments.size(s), op_, ": patterns[",
                        of_[static_cast<std::size_t>(s)], "]: expected a pattern of ", borders.segments.size(s),
                        " tokens, as many as sequence ", s, " has, got one of ", of(s).view().n);
    return;
  }
  int64_t tokens = 0;
  for (int64_t s = 0; s < sequences(); ++s) tokens += of(s).view().n;
  TORCH_CHECK_VALUE(tokens == rows, op_, ": patterns: expected patterns of N = ", rows,
                    " tokens together, got patterns of ", tokens);
}

namespace {

/// The operator longspan::pattern.
at::Tensor make_pattern(std::string_view name, int64_t n, int64_t seed, const c10::List<std::string>& options,
                        int64_t layer, const OptionalTensor& edges, const OptionalTensor& global_tokens) {
  return with_value_errors([&] {
    FieldValues values;
    for (const std::string& assignment : options) {
      const std::size_t equals = assignment.find('=');
      TORCH_CHECK_VALUE(equals != std::string::npos && equals > 0, "pattern: options: expected name=value, got ",
                        assignment);
      values[assignment.substr(0, equals)] = assignment.substr(equals + 1);  // the table of the field converts it
    }
    const patterns::PatternOptions chosen = patterns::pattern_options(name, values);
    patterns::PatternInputs inputs{.seed = static_cast<uint64_t>(seed), .layer = layer};
    patterns::EdgeList list;
    if (edges) {
      TORCH_CHECK_VALUE(
          edges->dim() == 2 && edges->size(0) == 2 && edges->scalar_type() == at::kLong && edges->is_cpu(),
          "pattern: edges: expected int64 [2, E] on the CPU, queries above keys, got ", dtype_name(*edges), " ",
          edges->sizes(), " on ", edges->device());
      list = patterns::edges_from_pairs(read_numbers(edges->select(0, 0)), read_numbers(edges->select(0, 1)),
                                        "pattern: edges", n);
      inputs.edges = &list;
    }
    if (global_tokens) {
      TORCH_CHECK_VALUE(
          global_tokens->dim() == 1 && global_tokens->scalar_type() == at::kLong && global_tokens->is_cpu(),
          "pattern: global_tokens: expected int64 [G] on the CPU, got ", dtype_name(*global_tokens), " ",
          global_tokens->sizes(), " on ", global_tokens->device());
      inputs.global_tokens = read_numbers(*global_tokens);
    }
    return pattern_tensor(patterns::build_pattern(chosen, n, inputs, torch_parallel()));
  });
}

}  // namespace
}  // namespace diffuse

at::Tensor pattern_tensor(const patterns::Pattern& pattern) {
  const std::vector<int32_t> words = patterns::pack(pattern, torch_parallel());
  // Patterns are kept: one that an evaluation made first must do for a training step.
  const c10::InferenceMode normal(false);
  const at::Tensor out = at::empty({static_cast<int64_t>(words.size())}, at::kInt);
  std::memcpy(out.mutable_data_ptr<int32_t>(), words.data(), words.size() * sizeof(int32_t));
  return out;
}

patterns::Pattern pattern_of_tensor(const at::Tensor& packed) {
  TORCH_CHECK_VALUE(packed.dim() == 1 && packed.scalar_type() == at::kInt && packed.is_cpu(),
                    "pattern: expected int32 [L] on the CPU, got ", dtype_name(packed), " ", packed.sizes(), " on ",
                    packed.device());
  return with_value_errors([&] {
    const at::Tensor dense = packed.contiguous();
    return patterns::PackedPattern(diffuse::words_of(dense), "pattern").pattern();
  });
}

}  // namespace longspan::ops

TORCH_LIBRARY_IMPL(longspan, CompositeExplicitAutograd, m) {
  m.impl("pattern", TORCH_FN(longspan::ops::diffuse::make_pattern));
}
