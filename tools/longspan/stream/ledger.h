// Where in its text a stream stands, and what its lines have cost so far.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "longspan/io/json.h"

namespace longspan::tool {

/// Sums over tokens. The first token of a stream is predicted by nothing: it counts among bytes and tokens only.
struct TextSums {
  int64_t tokens = 0, bytes = 0;
  int64_t predicted_tokens = 0, predicted_bytes = 0;
  double nats = 0;  ///< negative log-likelihood of the predicted ones, added in order

  void add(int64_t bytes, double nll);
  /// Bytes without a token: among the predicted ones, which tokens before and after them stand for, unless nothing was
  /// predicted yet.
  void add_silent(int64_t bytes);
  /// null where nothing was predicted.
  Json bits_per_byte() const;
  double log_likelihood() const { return 0 - nats; }
};

/// A line of the stream with its line break.
struct LineScore {
  int64_t line = 1;    ///< counted from 1
  int64_t offset = 0;  ///< of its first byte in the stream
  TextSums sums;
};

/// Follows a stream token by token, over any number of sessions.
class Ledger {
 public:
  Ledger() = default;
  /// From note(); `origin` names the file in messages. InputError for anything else.
  Ledger(const std::string& note, const std::string& origin);
  /// To be kept in a session.
  std::string note() const;

  /// The next token: its bytes, and its negative log-likelihood in nats (NaN for one that nobody predicted: the first
  /// of a stream, or one that was read without scoring it). Returns the line that it ends; a token belongs to the line
  /// that it begins in.
  std::optional<LineScore> add(std::string_view bytes, double nll);
  /// Text that has no token. Returns the lines that it ends.
  std::vector<LineScore> pass(std::string_view bytes);

  /// The line under way.
  const LineScore& open_line() const { return line_; }
  const TextSums& stream() const { return stream_; }
  int64_t offset() const { return stream_.bytes; }
  /// The last bytes before offset(), at most kContext.
  const std::string& context() const { return context_; }
  static constexpr std::size_t kContext = 48;

 private:
  void note_context(std::string_view bytes);
  LineScore end_line();

  TextSums stream_;
  LineScore line_;
  std::string context_;
};

}  // namespace longspan::tool
