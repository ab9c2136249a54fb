// Time per token at the two ends of a long stream.
#pragma once

#include <cstdint>
#include <deque>

namespace longspan::tool {

/// Mean times of the first and the last kTokens tokens, whatever portions they came in: a portion's time is shared
/// evenly among its tokens. Fewer tokens: of all. Constant memory.
class TokenTimes {
 public:
  static constexpr int64_t kTokens = 1000;

  void add(int64_t tokens, double seconds);
  /// Microseconds per token, 0 without tokens.
  double first() const;
  double last() const;
  double mean() const;

 private:
  struct Portion {
    int64_t tokens;
    double seconds;
  };
  int64_t tokens_ = 0, first_tokens_ = 0;
  double seconds_ = 0, first_seconds_ = 0;
  std::deque<Portion> last_;
  int64_t last_tokens_ = 0;
};

}  // namespace longspan::tool
