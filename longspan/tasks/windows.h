// Documents that are longer than a sequence: what is read of them.
#pragma once

#include <cstdint>
#include <vector>

#include "longspan/base/fields.h"
#include "longspan/models/encoder_heads.h"

namespace longspan::tasks {

/// Tokens [begin, end) of a sequence or of a text.
struct TokenSpan {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
  bool operator==(const TokenSpan&) const = default;
};

/// What becomes of a text that is longer than a sequence. Of masked_language pieces are always read, each by itself.
enum class LongTexts {
  automatic,  ///< windows for question and choice, cut for classification and multi_label
  cut,        ///< its end is left out
  windows,    ///< all of it is read in windows that overlap, and the windows speak with one voice (losses.h)
};

/// Which answers of a question are to be found.
enum class LearnAnswers {
  first,  ///< the first one that a sequence holds
  all,    ///< any of them, wherever a sequence holds one: -log of the sum of their probabilities
};

struct WindowOptions {
  LongTexts long_texts = LongTexts::automatic;
  /// Tokens from the beginning of a window to that of the next; 0: half of what a window has room for. An answer of up
  /// to (room - stride + 1) tokens is whole in some window.
  int64_t stride = 0;
  /// Windows of one document that a step of training reads at the most, drawn anew in every step; 0: all. Of a question
  /// one of them holds the answer, if any does, and the others are drawn from all the rest. Measurements and
  /// predictions read all.
  int64_t train_windows = 4;
  LearnAnswers learn_answers = LearnAnswers::first;  ///< question
};

const FieldTable<WindowOptions>& window_fields();

/// Whether texts longer than a sequence are read in windows.
bool in_windows(LongTexts long_texts, models::HeadKind kind);

/// Windows of at most `room` tokens over a text of `tokens`, in order: they begin `stride` tokens apart (0: room / 2;
/// no more than `room`), and the last one ends where the text does. One alone where all fits, also for no tokens.
std::vector<TokenSpan> windows_over(int64_t tokens, int64_t room, int64_t stride);

/// `most` of the windows 0 to count - 1, ascending, or all where most is 0 or at least count; one of them is among
/// `wanted`, where there is any. A pure function of the stream that `key` names.
std::vector<int64_t> drawn_windows(int64_t count, int64_t most, const std::vector<int64_t>& wanted, uint64_t seed,
                                   uint64_t stream);

}  // namespace longspan::tasks
