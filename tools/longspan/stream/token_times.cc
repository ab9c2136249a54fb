#include "token_times.h"

#include <algorithm>

namespace longspan::tool {

namespace {

double microseconds(double seconds, int64_t tokens) {
  return tokens > 0 ? seconds * 1e6 / static_cast<double>(tokens) : 0;
}

}  // namespace

void TokenTimes::add(int64_t tokens, double seconds) {
  if (tokens <= 0) return;
  tokens_ += tokens;
  seconds_ += seconds;
  const int64_t early = std::min(tokens, kTokens - first_tokens_);
  first_tokens_ += early;
  first_seconds_ += seconds * static_cast<double>(early) / static_cast<double>(tokens);
  last_.push_back({tokens, seconds});
  last_tokens_ += tokens;
  while (last_tokens_ - last_.front().tokens >= kTokens) {
    last_tokens_ -= last_.front().tokens;
    last_.pop_front();
  }
}

double TokenTimes::first() const { return microseconds(first_seconds_, first_tokens_); }

double TokenTimes::last() const {
  const int64_t wanted = std::min(last_tokens_, kTokens);
  double seconds = 0;
  int64_t left = wanted;
  for (auto portion = last_.rbegin(); portion != last_.rend() && left > 0; ++portion) {
    const int64_t part = std::min(left, portion->tokens);
    seconds += portion->seconds * static_cast<double>(part) / static_cast<double>(portion->tokens);
    left -= part;
  }
  return microseconds(seconds, wanted);
}

double TokenTimes::mean() const { return microseconds(seconds_, tokens_); }

}  // namespace longspan::tool
