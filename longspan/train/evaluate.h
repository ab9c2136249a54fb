// Bits per byte on the same target blocks with more or less context before them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "longspan/data/token_file.h"
#include "longspan/models/language_model.h"

namespace longspan::train {

/// Tokens of a target block.
inline constexpr int64_t kTargetBlock = 1024;

struct EvaluateOptions {
  int64_t blocks = 16;           ///< target blocks
  int64_t first_target = 65536;  ///< targets start here or later; less where the data or a length force it (see below)
  int64_t piece = 16384;         ///< longest run of tokens in one forward pass; longer contexts carry the state
  std::string ablate_part;       ///< such as "memory", see nn::Attention::ablations(); or empty
  std::string ablate_way;        ///< such as "zero"
  bool autocast = false;         ///< bfloat16 matrix products
};

/// One context length.
struct ContextResult {
  int64_t length = 0;        ///< tokens fed, target block included
  double bits_per_byte = 0;  ///< all bits of the targets by all their bytes
  int64_t tokens = 0;        ///< targets measured
  int64_t blocks = 0;        ///< target blocks measured: fewer than asked for when cost-limited or the data are short
  double us_per_token = 0;   ///< time divided by tokens fed
  double seconds = 0;
  std::vector<int64_t> block_offsets;  ///< offsets of the blocks measured, among target_offsets()
  std::vector<double> block_bits;      ///< bits per byte of each of them
};

/// Bytes of source text that tokens [first, first + count) of a split stand for, see Dataset::source_bytes().
using SourceBytes = std::function<int64_t(int64_t first, int64_t count)>;

/// Measures a model on one split. Block b has its targets at [o_b + 1, o_b + 1025); with context length L the model
/// reads tokens [o_b + 1024 - L, o_b + 1024) from an empty state, and only the last 1,024 predictions count, so every
/// length is measured on the same targets.
class ContextEvaluation {
 public:
  /// `longest` is the greatest length that will be asked for. Offsets are spread evenly from max(first_target, longest
  /// - 1024) to the end without overlap; when the split is too short for first_target, from longest - 1024. InputError
  /// naming both numbers when `longest` does not fit in the split at all, or is below 1,024. Bits per byte divide by
  /// `source_bytes` of the targets; none: one byte a token.
  ContextEvaluation(models::LanguageModel& model, const TokenFile& tokens, int64_t longest,
                    EvaluateOptions options = {}, SourceBytes source_bytes = {});

  const std::vector<int64_t>& target_offsets() const { return offsets_; }

  /// `blocks` > 0 limits the cost: that many blocks, evenly chosen among the offsets. `on_block` is told (done, total).
  /// NonFiniteError naming block and length when a loss is not finite.
  ContextResult run(int64_t length, int64_t blocks = 0, const std::function<void(int64_t, int64_t)>& on_block = {});

 private:
  models::LanguageModel& model_;
  const TokenFile& tokens_;
  int64_t longest_;
  EvaluateOptions options_;
  SourceBytes source_bytes_;
  std::vector<int64_t> offsets_;
};

}  // namespace longspan::train
