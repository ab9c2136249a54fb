#include "longspan/train/evaluate.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "longspan/metrics/likelihood.h"
#include "longspan/train/autocast.h"
#include "longspan/train/evaluation_mode.h"
#include "longspan/train/sums.h"
#include "longspan/train/train.h"

namespace longspan::train {

namespace {

/// Puts an ablated model right again, whatever happens.
class Ablation {
 public:
  Ablation(models::LanguageModel& model, const EvaluateOptions& options) : model_(model), part_(options.ablate_part) {
    if (!part_.empty()) model_.ablate(part_, options.ablate_way);
  }
  ~Ablation() {
    if (!part_.empty()) model_.ablate(part_, "none");
  }

 private:
  models::LanguageModel& model_;
  std::string part_;
};

}  // namespace

ContextEvaluation::ContextEvaluation(models::LanguageModel& model, const TokenFile& tokens, int64_t longest,
                                     EvaluateOptions options, SourceBytes source_bytes)
    : model_(model),
      tokens_(tokens),
      longest_(longest),
      options_(std::move(options)),
      source_bytes_(std::move(source_bytes)) {
  LONGSPAN_CHECK(longest >= kTargetBlock, "evaluate: a length must be at least ", kTargetBlock, ", got ", longest);
  LONGSPAN_CHECK(options_.blocks >= 1, "evaluate: blocks must be at least 1, got ", options_.blocks);
  LONGSPAN_CHECK(options_.piece >= kTargetBlock, "evaluate: piece must be at least ", kTargetBlock, ", got ",
                 options_.piece);
  LONGSPAN_CHECK(tokens.vocabulary() == model.config().vocabulary, tokens.path(), ": the data have a vocabulary of ",
                 tokens.vocabulary(), ", the model ", model.config().vocabulary);
  LONGSPAN_CHECK(tokens.size() > longest, "evaluate: length ", longest, " needs ", static_cast<uint64_t>(longest) + 1,
                 " tokens, but ", tokens.path(), " has ", tokens.size());
  // Blocks may begin from `first` to `last`.
  const int64_t last = tokens.size() - 1 - kTargetBlock;
  int64_t first = std::max(options_.first_target, longest - kTargetBlock);
  if (first > last) first = longest - kTargetBlock;
  const int64_t count = std::min(options_.blocks, (last - first) / kTargetBlock + 1);
  for (int64_t i = 0; i < count; ++i) offsets_.push_back(count > 1 ? first + (last - first) * i / (count - 1) : first);
}

ContextResult ContextEvaluation::run(int64_t length, int64_t blocks,
                                     const std::function<void(int64_t, int64_t)>& on_block) {
  LONGSPAN_CHECK(length >= kTargetBlock && length <= longest_, "evaluate: a length must be from ", kTargetBlock, " to ",
                 longest_, ", got ", length);
  ContextResult result;
  result.length = length;
  const int64_t available = static_cast<int64_t>(offsets_.size());
  const int64_t count = blocks > 0 ? std::min(blocks, available) : available;
  for (int64_t i = 0; i < count; ++i)
    result.block_offsets.push_back(
        offsets_[static_cast<std::size_t>(count > 1 ? i * (available - 1) / (count - 1) : 0)]);

  // Streams side by side as far as a piece allows; an exchange of memories needs at least two.
  const bool swap = options_.ablate_way == "swap";
  LONGSPAN_CHECK(!swap || count >= 2, "evaluate: the memory of another text needs at least 2 blocks, got ", count);
  const int64_t together = std::max<int64_t>(options_.piece / length, swap ? 2 : 1);

  c10::InferenceMode inference;
  EvaluationMode evaluation(model_);
  Ablation ablation(model_, options_);
  AutocastGuard autocast(options_.autocast);
  const auto start = std::chrono::steady_clock::now();
  double all_bits = 0, all_bytes = 0;
  for (int64_t begin = 0; begin < count;) {
    int64_t batch = std::min(together, count - begin);
    if (swap && count - begin - batch == 1) ++batch;
    at::Tensor tokens = torch::empty({batch, length + 1}, torch::kLong);
    for (int64_t row = 0; row < batch; ++row)
      tokens_.copy_to(tokens[row].mutable_data_ptr<int64_t>(),
                      result.block_offsets[static_cast<std::size_t>(begin + row)] + kTargetBlock - length, length + 1);
    // Pieces are cut from the end, so that the last holds the whole target block.
    at::Tensor hidden;
    if (length <= options_.piece) {
      hidden = model_.hidden(tokens.narrow(1, 0, length));
    } else {
      models::ModelState state = model_.begin(batch);
      const int64_t piece = std::max(kTargetBlock, options_.piece / batch);
      for (int64_t at = 0, size = (length - 1) % piece + 1; at < length; at += size, size = piece)
        hidden = model_.extend(state, tokens.narrow(1, at, size));
    }
    const at::Tensor nll = model_.nll(hidden.narrow(1, hidden.size(1) - kTargetBlock, kTargetBlock),
                                      tokens.narrow(1, length + 1 - kTargetBlock, kTargetBlock));
    for (int64_t row = 0; row < batch; ++row) {
      const int64_t offset = result.block_offsets[static_cast<std::size_t>(begin + row)];
      const double bits = metrics::bits(ordered_sum(nll[row]));
      if (!std::isfinite(bits))
        throw NonFiniteError(
            str_cat("evaluate: the loss is not finite on the block at ", offset, " with length ", length));
      const auto bytes = static_cast<double>(source_bytes_ ? source_bytes_(offset + 1, kTargetBlock) : kTargetBlock);
      result.block_bits.push_back(bits / bytes);
      all_bits += bits;
      all_bytes += bytes;
    }
    begin += batch;
    if (on_block) on_block(begin, count);
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

  result.blocks = count;
  result.tokens = count * kTargetBlock;
  result.us_per_token = result.seconds * 1e6 / static_cast<double>(count * length);
  result.bits_per_byte = all_bits / all_bytes;
  return result;
}

}  // namespace longspan::train
