#include "longspan/train/memory.h"

#include <cmath>

#include "longspan/base/check.h"
#include "longspan/base/usable_memory.h"

namespace longspan::train {

int64_t tokens_at_once(const TrainOptions& options, int64_t processes) {
  return options.batch / (options.accumulation * processes) * options.length;
}

double activation_bytes(const models::ModelConfig& config, int64_t tokens, bool recompute) {
  const double width = static_cast<double>(config.width), inner = static_cast<double>(config.feed_forward);
  // Input, two norms, queries, keys, values, local and global results, their mean, the merged heads, the sum.
  const double attention = 12 * width;
  // gpt2: before and behind gelu; llama: gate, its silu, the other factor, the product.
  const double feed_forward = (config.shape == models::Shape::gpt2 ? 2 : 4) * inner;
  const double layer = attention + feed_forward, layers = static_cast<double>(config.layers);
  const double floats = recompute ? layer + layers * width : layers * layer;
  return 4 * static_cast<double>(tokens) * (floats + 2 * width);  // the embedded tokens and the last norm
}

void check_fits(const models::ModelConfig& config) {
  const double width = static_cast<double>(config.width), inner = static_cast<double>(config.feed_forward);
  // Projections of queries and of the result, the two of the feed-forward part; the embedding.
  const double least = static_cast<double>(config.layers) * (2 * width * width + 2 * width * inner) +
                       static_cast<double>(config.vocabulary) * width;
  constexpr double kGiB = 1 << 30;
  const double room = static_cast<double>(usable_memory());
  LONGSPAN_CHECK(kTrainedBytes * least <= room, "train: a model of ", config.layers, " layers of width ", config.width,
                 " has at least ", std::llround(least / 1e6), " million parameters, which take ",
                 std::llround(kTrainedBytes * least / kGiB), " GiB to train; this machine has ",
                 std::llround(room / kGiB));
}

bool recomputes(Recompute choice, const models::ModelConfig& config, int64_t tokens) {
  if (choice != Recompute::automatic) return choice == Recompute::blocks;
  return activation_bytes(config, tokens, false) > static_cast<double>(usable_memory()) / 4;
}

}  // namespace longspan::train
