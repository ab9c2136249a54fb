#include "longspan/tasks/best_spans.h"

#include <algorithm>

namespace longspan::tasks {

void BestSpans::add(const double* starts, const double* ends, int64_t tokens, int64_t longest,
                    const std::function<AnswerSpan(TokenSpan)>& bytes) {
  for (int64_t first = 0; first < tokens; ++first) {
    for (int64_t last = first; last < std::min(tokens, first + longest); ++last) {
      const double score = starts[first] + ends[last];
      if (spans_.size() == most_ && score <= least_) continue;
      if (const AnswerSpan span = bytes({first, last + 1}); span.begin < span.end) add(span, score);
    }
  }
}

void BestSpans::add(const AnswerSpan& bytes, double score) {
  const auto same = std::ranges::find(spans_, bytes, &ScoredSpan::bytes);
  if (same != spans_.end()) {
    if (score <= same->score) return;
    spans_.erase(same);
  } else if (spans_.size() == most_) {
    // Of equals the last one goes.
    spans_.erase(std::prev(std::ranges::min_element(spans_.rbegin(), spans_.rend(), {}, &ScoredSpan::score).base()));
  }
  spans_.push_back({bytes, score});
  if (spans_.size() == most_) least_ = std::ranges::min(spans_, {}, &ScoredSpan::score).score;
}

std::vector<ScoredSpan> BestSpans::sorted() const {
  std::vector<ScoredSpan> out = spans_;
  std::ranges::stable_sort(out, std::ranges::greater(), &ScoredSpan::score);
  return out;
}

}  // namespace longspan::tasks
