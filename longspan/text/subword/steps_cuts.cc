#include "longspan/text/subword/steps_cuts.h"

#include <string>
#include <string_view>
#include <vector>

#include "longspan/base/check.h"

namespace longspan {

namespace {

/// Whether the steps make `sign` of a blank within a text and leave it within a word.
bool words_go_on_over_blanks(const SubwordParts& parts, std::string_view sign) {
  Regex::Scratch scratch;
  AlignedText text("a b", 0);
  for (const auto& step : parts.normalizers) step->apply(text, scratch);
  std::vector<TextSpan> spans = {{0, text.text().size()}};
  Words words{text, spans};
  for (const auto& step : parts.pre_tokenizers) step->apply(words, scratch);
  const std::string inner = str_cat("a", sign, "b");
  return spans.size() == 1 && text.text().substr(spans[0].begin).find(inner) != std::string_view::npos;
}

}  // namespace

CutPlaces cuts_of(const SubwordParts& parts, const AddedTokenFinder& raw, const AddedTokenFinder& normalized) {
  CutPlaces cuts = raw.cuts() & normalized.cuts();
  CutPlaces breaks = kCutNowhere;
  for (const auto& step : parts.normalizers) cuts = cuts & step->cuts();
  for (const auto& step : parts.pre_tokenizers) {
    cuts = cuts & step->cuts();
    breaks = breaks | step->breaks();
  }
  constexpr std::string_view kSign = "\xE2\x96\x81";
  if (cuts.at_blanks && !breaks.at_blanks && words_go_on_over_blanks(parts, kSign))
    breaks.at_blanks = parts.model->never_joins(kSign);
  return cuts & breaks;
}

}  // namespace longspan
