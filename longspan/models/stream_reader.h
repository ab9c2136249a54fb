// Reading a stream of tokens at parallel speed, in constant memory, with the probability of every token.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "longspan/models/language_model.h"
#include "longspan/models/session.h"

namespace longspan::models {

/// Tokens in a piece: enough for parallel speed, few enough for constant memory and for output soon after a token.
inline constexpr int64_t kStreamPiece = 512;

/// Feeds tokens to a session. The model reads pieces that end at multiples of kStreamPiece tokens of the stream, and a
/// piece that is not whole yet is read ahead, filled up with tokens that a causal attention does not see. So every
/// matrix product has the same shape and the results do not depend, by one bit, on how the stream was cut into read()
/// calls, flushes, sessions and processes (same machine, build, number format and number of threads).
///
/// The model must be in evaluation mode; it and the session must outlive the reader, and nothing else may change the
/// session meanwhile.
class StreamReader {
 public:
  enum class Scores { off, on };

  StreamReader(LanguageModel& model, Session& session, Scores scores = Scores::on);

  /// Tokens of the session's stream, one after the other. Returns the negative log-likelihood in nats of those that
  /// became known, in order, each after all before it (NaN for the first token of a stream, which nothing predicts):
  /// all tokens up to the last complete piece that were not returned before. InputError for a token outside the
  /// vocabulary, with nothing read; RunError when a loss is not finite.
  std::vector<double> read(std::span<const int64_t> tokens);

  /// The same of the tokens that still wait for their piece to be whole. Reads the whole piece each time: call it where
  /// the input pauses, not after every token.
  std::vector<double> flush();

  /// Tokens of the piece under way, those still to come included.
  int64_t piece() const;
  /// Tokens that complete it.
  int64_t room() const;
  /// Tokens read whose scores have not been returned; of those that came in a session, none.
  int64_t waiting() const { return static_cast<int64_t>(session_.pending.size()) - scored_; }

 private:
  void run(bool whole, std::vector<double>& scores);

  LanguageModel& model_;
  Session& session_;
  Scores scores_;
  int64_t position_;    ///< tokens in the session's state
  int64_t scored_ = 0;  ///< of the pending ones
};

}  // namespace longspan::models
