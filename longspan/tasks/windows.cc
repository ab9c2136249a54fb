#include "longspan/tasks/windows.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "longspan/base/rng.h"

namespace longspan::tasks {

using models::HeadKind;

const FieldTable<WindowOptions>& window_fields() {
  using O = WindowOptions;
  static const auto table =
      FieldTable<O>("windows")
          .choice("long_texts", &O::long_texts,
                  {{"auto", LongTexts::automatic}, {"cut", LongTexts::cut}, {"windows", LongTexts::windows}},
                  "what is read of a text longer than a sequence: its beginning, or all in windows; auto: windows for "
                  "question and choice, cut for classification and multi_label")
          .integer("stride", &O::stride, {0, 1 << 30},
                   "tokens from the beginning of a window to that of the next, 0 = half of its room")
          .integer("train_windows", &O::train_windows, {0, 1 << 30},
                   "windows of a document that a step reads at the most, one with the answer among them, 0 = all")
          .choice("learn_answers", &O::learn_answers, {{"first", LearnAnswers::first}, {"all", LearnAnswers::all}},
                  "question: whether the first answer is learnt or any of all");
  return table;
}

bool in_windows(LongTexts long_texts, HeadKind kind) {
  if (kind == HeadKind::masked_language) return false;
  if (long_texts != LongTexts::automatic) return long_texts == LongTexts::windows;
  return kind == HeadKind::question || kind == HeadKind::choice;
}

std::vector<TokenSpan> windows_over(int64_t tokens, int64_t room, int64_t stride) {
  LONGSPAN_ASSERT(room >= 1, "windows need room");
  if (stride <= 0) stride = std::max<int64_t>(1, room / 2);
  stride = std::min(stride, room);
  std::vector<TokenSpan> out;
  for (int64_t begin = 0; begin + room < tokens; begin += stride) out.push_back({begin, begin + room});
  out.push_back({std::max<int64_t>(0, tokens - room), tokens});
  return out;
}

std::vector<int64_t> drawn_windows(int64_t count, int64_t most, const std::vector<int64_t>& wanted, uint64_t seed,
                                   uint64_t stream) {
  std::vector<int64_t> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  if (most <= 0 || most >= count) return all;
  Rng rng(seed, stream);
  // The first places of a shuffle; one that is wanted takes the very first.
  std::size_t drawn = 0;
  if (!wanted.empty()) std::swap(all[drawn++], all[static_cast<std::size_t>(wanted[rng.below(wanted.size())])]);
  for (; drawn < static_cast<std::size_t>(most); ++drawn)
    std::swap(all[drawn], all[drawn + rng.below(all.size() - drawn)]);
  all.resize(drawn);
  std::ranges::sort(all);
  return all;
}

}  // namespace longspan::tasks
