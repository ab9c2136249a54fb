#include "longspan/tasks/masking.h"

#include <algorithm>
#include <array>

#include "longspan/base/check.h"

namespace longspan::tasks {

namespace {

bool is_blank(char byte) { return byte == ' ' || (byte >= '\t' && byte <= '\r'); }

/// Numbers of one token, by what they decide.
enum Draw : uint64_t { kChosen, kShown, kReplacement, kDraws };

/// The tokens that are not special, counted from 0.
class Ordinary {
 public:
  Ordinary(const models::SpecialTokens& special, int64_t vocabulary)
      : special_{special.first, special.separator, special.padding, special.mask}, vocabulary_(vocabulary) {
    std::ranges::sort(special_);
  }
  bool contains(int64_t token) const { return std::ranges::find(special_, token) == special_.end(); }
  /// The one at `uniform` in [0, 1) of all.
  int64_t at(double uniform) const {
    const auto count = vocabulary_ - static_cast<int64_t>(special_.size());
    int64_t token = std::min(static_cast<int64_t>(uniform * static_cast<double>(count)), count - 1);
    for (const int64_t each : special_)
      if (token >= each) ++token;
    return token;
  }

 private:
  std::array<int64_t, models::kSpecialTokens> special_;
  int64_t vocabulary_;
};

}  // namespace

const FieldTable<MaskingOptions>& masking_fields() {
  using O = MaskingOptions;
  static const auto table =
      FieldTable<O>("masking")
          .real("mask_rate", &O::mask_rate, {0, 1}, "masked_language: share of the tokens that are to be predicted")
          .real("mask_share", &O::mask_share, {0, 1}, "masked_language: share of these that the mask token hides")
          .real("random_share", &O::random_share, {0, 1},
                "masked_language: share of these that another token stands for; the rest stays as it is")
          .boolean("whole_words", &O::whole_words, "masked_language: hide words with all their tokens");
  return table;
}

void validate(const MaskingOptions& options) {
  masking_fields().validate(options);
  LONGSPAN_CHECK(options.mask_share + options.random_share <= 1,
                 "masking: mask_share and random_share must add up to at most 1, got ", options.mask_share, " and ",
                 options.random_share);
}

MaskedTokens mask_tokens(std::span<const int32_t> tokens, std::span<const uint8_t> word_starts,
                         const MaskingOptions& options, const models::SpecialTokens& special, int64_t vocabulary,
                         const Rng& stream) {
  LONGSPAN_CHECK(!options.whole_words || word_starts.size() == tokens.size(),
                 "masking: whole words need a mark for each of ", tokens.size(), " tokens, got ", word_starts.size());
  const Ordinary ordinary(special, vocabulary);
  auto draw = [rng = stream](std::size_t token, Draw what) mutable {
    rng.set_position(static_cast<uint64_t>(token) * kDraws + what);
    return rng.uniform();
  };
  MaskedTokens out;
  out.tokens.assign(tokens.begin(), tokens.end());

  std::vector<std::size_t> units;  // first tokens of what is chosen together
  const auto size_of = [&](std::size_t begin) {
    std::size_t end = begin + 1;
    while (options.whole_words && end < tokens.size() && !word_starts[end] && ordinary.contains(tokens[end])) ++end;
    return end - begin;
  };
  for (std::size_t i = 0; i < tokens.size();) {
    if (!ordinary.contains(tokens[i])) {
      ++i;
      continue;
    }
    units.push_back(i);
    i += size_of(i);
  }
  std::vector<std::size_t> chosen;
  for (const std::size_t unit : units)
    if (draw(unit, kChosen) < options.mask_rate) chosen.push_back(unit);
  if (chosen.empty() && !units.empty()) {
    const double all = static_cast<double>(units.size());
    const auto one = static_cast<std::size_t>(draw(tokens.size(), kChosen) * all);
    chosen.push_back(units[std::min(one, units.size() - 1)]);
  }
  for (const std::size_t unit : chosen) {
    for (std::size_t i = unit; i < unit + size_of(unit); ++i) {
      out.places.push_back(static_cast<int64_t>(i));
      out.targets.push_back(tokens[i]);
      const double shown = draw(i, kShown);
      if (shown < options.mask_share)
        out.tokens[i] = special.mask;
      else if (shown < options.mask_share + options.random_share)
        out.tokens[i] = ordinary.at(draw(i, kReplacement));
    }
  }
  return out;
}

std::vector<uint8_t> word_starts(std::string_view text, std::span<const uint32_t> source_bytes) {
  std::vector<uint8_t> out;
  std::size_t begin = 0;
  for (const uint32_t bytes : source_bytes) {
    const std::string_view token = text.substr(std::min(begin, text.size()), bytes);
    const auto first = static_cast<std::size_t>(std::ranges::find_if_not(token, is_blank) - token.begin());
    // Behind a blank, of its own or of the token before, a word begins.
    const bool goes_on = !out.empty() && (bytes == 0 || (first == 0 && begin > 0 && !is_blank(text[begin - 1])));
    out.push_back(!goes_on);
    begin += bytes;
  }
  return out;
}

}  // namespace longspan::tasks
