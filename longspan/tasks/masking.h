// Hiding tokens for a masked language model (Devlin et al., "BERT", 2019), anew in every step (Liu et al., "RoBERTa",
// 2019).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "longspan/base/fields.h"
#include "longspan/base/rng.h"
#include "longspan/models/encoder_config.h"

namespace longspan::tasks {

struct MaskingOptions {
  double mask_rate = 0.15;    ///< of the tokens are to be predicted
  double mask_share = 0.8;    ///< of these are shown as the mask token,
  double random_share = 0.1;  ///< and these as any token; the rest as they are
  bool whole_words = false;   ///< words are chosen, with all their tokens, instead of tokens
};

const FieldTable<MaskingOptions>& masking_fields();
/// InputError for a value out of range and for shares that add up to more than 1.
void validate(const MaskingOptions& options);

struct MaskedTokens {
  std::vector<int64_t> tokens;   ///< as the model sees them
  std::vector<int64_t> places;   ///< of those to be predicted, ascending
  std::vector<int64_t> targets;  ///< what stood there
};

/// Chooses every token by itself (with whole words every word) with probability mask_rate; special tokens never. Where
/// that leaves none, one is chosen uniformly, so that every sequence with a token of text has something to predict. A
/// token of any kind is drawn uniformly from those that are not special. What becomes of a token is a pure function of
/// `stream` and its place. `word_starts`, for whole words alone: 1 where a token begins a word, as long as `tokens`.
MaskedTokens mask_tokens(std::span<const int32_t> tokens, std::span<const uint8_t> word_starts,
                         const MaskingOptions& options, const models::SpecialTokens& special, int64_t vocabulary,
                         const Rng& stream);

/// Which of the tokens of a text begin a word, a longest run of bytes that are no ASCII blanks. `source_bytes`: as
/// Encoding has them. A token belongs to the word in which its first byte lies that is no blank; one of blanks alone is
/// a word of its own; one without bytes belongs to the word before.
std::vector<uint8_t> word_starts(std::string_view text, std::span<const uint32_t> source_bytes);

}  // namespace longspan::tasks
