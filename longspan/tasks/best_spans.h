// The likeliest spans of a context.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "longspan/data/records.h"
#include "longspan/tasks/windows.h"

namespace longspan::tasks {

struct ScoredSpan {
  AnswerSpan bytes;
  double score = 0;
};

/// Collects the `most` spans of bytes with the highest scores; of one span that comes twice, as from two windows or
/// with a blank more, the higher score counts.
class BestSpans {
 public:
  explicit BestSpans(int64_t most) : most_(static_cast<std::size_t>(most)) {}

  /// Every span of at most `longest` tokens of one window: `starts` and `ends` (last token included) hold the scores of
  /// its `tokens` tokens, and a span's is their sum. `bytes` gives what tokens of the window, counted from 0, stand
  /// for; an empty span is passed over. O(tokens longest).
  void add(const double* starts, const double* ends, int64_t tokens, int64_t longest,
           const std::function<AnswerSpan(TokenSpan)>& bytes);

  /// Best first; of equals the one that came first.
  std::vector<ScoredSpan> sorted() const;

 private:
  void add(const AnswerSpan& bytes, double score);

  std::size_t most_;
  double least_ = 0;               ///< of the scores, once there are `most`
  std::vector<ScoredSpan> spans_;  ///< unordered, but equals in the order in which they came
};

}  // namespace longspan::tasks
