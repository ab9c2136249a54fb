// One stream and everything that going on with it tomorrow takes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "longspan/models/model_state.h"
#include "longspan/models/sampling.h"

namespace longspan::models {

/// The last kRecentTokens tokens of a stream, oldest first.
class RecentTokens {
 public:
  void push(std::span<const int64_t> tokens);
  std::span<const int64_t> view() const;

 private:
  std::vector<int64_t> tokens_;  ///< up to twice as many, so that dropping the old ones costs nothing a token
};

/// A value: copy it to try something, save it (session_file.h), go on in another process. Its size does not depend on
/// the length of the stream unless the attention's does.
struct Session {
  ModelState state;  ///< one stream: batch 1
  at::Tensor last;   ///< [E] hidden state of the last token in `state`; undefined before the first
  /// Tokens that the stream has and `state` does not yet: StreamReader cuts its pieces at fixed places of the stream,
  /// whatever portions the tokens come in, and the last token drawn waits until the next one is wanted.
  std::vector<int64_t> pending;
  RecentTokens recent;  ///< pending ones included

  std::string text;             ///< bytes read that are not tokens yet: the beginning of a line or character
  std::string held;             ///< drawn text not shown yet: the beginning of a character or stop string
  std::optional<int64_t> seed;  ///< of the draws so far, see draw_of()
  std::map<std::string, std::string> notes;  ///< what a program keeps beside it, in UTF-8

  /// Length of the stream in tokens.
  int64_t tokens() const;
  /// The stream has these tokens too; the model reads them later.
  void append(std::span<const int64_t> more);
};

/// The stream before its first token.
Session begin_session(const LanguageModel& model);

/// Lets `state` read what is pending, as one piece, so that `last` is the stream's last hidden state.
void read_pending(LanguageModel& model, Session& session);

}  // namespace longspan::models
