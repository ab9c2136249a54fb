// What a pattern is made of, as options: generators, their parameters, named patterns.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "longspan/base/fields.h"

namespace longspan::patterns {

/// docs/patterns.md defines each.
enum class Generator {
  window_overlap,
  window_band,
  window_block,
  global,
  random,
  uniform,
  bigbird,
  longformer,
  strided,
  fixed,
  full,
  edges
};

enum class GlobalChoice { random, first, list };
enum class RandomMode { per_row, total };
enum class LongformerWindow { band, chunks };
enum class Fit { exact, cut };

struct PatternOptions {
  /// Names of generators with '+' in between: the pattern is their union.
  std::string pattern = "window_overlap+global+random";
  int64_t w = 64;         ///< window_overlap, longformer: width of the window, even
  int64_t k = 32;         ///< window_band: keys on either side
  int64_t b = 64;         ///< window_block, bigbird: width of a block
  int64_t bigbird_r = 3;  ///< bigbird: random blocks in each row of blocks
  LongformerWindow longformer_window = LongformerWindow::band;
  int64_t g = 64;  ///< global, longformer: tokens that see all and are seen by all
  GlobalChoice global_choice = GlobalChoice::random;
  std::string global_tokens;  ///< for GlobalChoice::list: positions with commas between
  int64_t r = 64;             ///< random: keys for each query
  RandomMode random_mode = RandomMode::per_row;
  int64_t uniform_r = 64;  ///< uniform: keys for each query
  int64_t l = 128;         ///< strided, fixed: the stride
  int64_t c = 8;           ///< fixed: columns at the end of each block
  bool self_loops = true;
  bool causal = false;
  Fit fit = Fit::exact;
  int64_t max_len = 4096;      ///< for Fit::cut, and where causal global tokens are drawn
  bool pad_to_window = false;  ///< lengths are rounded up to a multiple of w

  bool operator==(const PatternOptions&) const = default;
};

/// Every field except `pattern`, which is given apart.
const FieldTable<PatternOptions>& pattern_fields();

/// The names that pattern_options() knows apart from unions: generators and presets.
std::vector<std::string> pattern_names();

/// Options of a preset (`reference`, `table_s1`), a generator, or a union such as "window_band+global+random", with
/// `values` set. Presets and the generator `longformer` bring defaults of their own. Throws InputError for an unknown
/// name or field (with the nearest known one), a field that none of the generators uses, and values that cannot be.
PatternOptions pattern_options(std::string_view name, const FieldValues& values = {});

/// Every field, null where none of the generators uses it; `pattern` is the union. pattern_options() reads it back.
FieldValues pattern_values(const PatternOptions& options);

/// The generators of options.pattern. Throws InputError for an unknown name and one that stands twice.
std::vector<Generator> generators_of(const PatternOptions& options);
bool uses(const PatternOptions& options, Generator generator);
/// The union without some of its generators; every other field as it is. Throws InputError for one that it has not, and
/// when nothing is left.
PatternOptions without_generators(const PatternOptions& options, const std::vector<Generator>& dropped);

/// Throws InputError for a field out of range and values that do not fit together.
void check(const PatternOptions& options);

/// Positions in options.global_tokens, ascending, each once. Throws InputError for what is not a list of positions.
std::vector<int64_t> listed_global_tokens(const PatternOptions& options);

/// The length of the pattern for n tokens: n, or the next multiple of w under pad_to_window.
int64_t padded_length(const PatternOptions& options, int64_t n);

/// Why the keys of a token depend on how many tokens follow it, naming the generator or option; "" where they do not,
/// so that the pattern of a prefix is the prefix of the pattern and a stream can be continued.
std::string length_dependence(const PatternOptions& options);

}  // namespace longspan::patterns
