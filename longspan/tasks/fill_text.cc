#include "longspan/tasks/fill_text.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "longspan/base/check.h"
#include "longspan/tasks/evaluate.h"
#include "longspan/text/subword/subword_tokenizer.h"

namespace longspan::tasks {

std::vector<FilledMask> fill_text(models::EncoderModel& model, const SequenceOptions& options, const TextRecord& record,
                                  int64_t most) {
  const Tokenizer& tokenizer = *options.tokenizer;
  std::vector<int64_t> sequence = {options.special.first};
  const auto append = [&](std::string_view text) {
    try {
      for (const uint32_t token : tokenizer.encode(text)) sequence.push_back(token);
    } catch (const InputError& error) {
      throw InputError(str_cat(record.place.text(), ": ", error.what()));
    }
  };
  // A mask token of the tokenizer's own may take blanks beside it: it must see the whole text.
  const auto* subword = dynamic_cast<const SubwordTokenizer*>(&tokenizer);
  const bool own = subword && options.special.mask < tokenizer.vocabulary_size();
  const std::string_view mask = kMaskText;
  std::string whole;
  std::string_view rest = record.text;
  for (auto at = rest.find(mask); at != std::string_view::npos; at = rest.find(mask)) {
    if (own) {
      whole += str_cat(rest.substr(0, at), subword->token_name(static_cast<uint32_t>(options.special.mask)));
    } else {
      append(rest.substr(0, at));
      sequence.push_back(options.special.mask);
    }
    rest.remove_prefix(at + mask.size());
  }
  append(whole.append(rest));
  sequence.push_back(options.special.separator);
  LONGSPAN_CHECK(std::ranges::count(sequence, options.special.mask) > 0, record.place.text(), ": the text has no ",
                 kMaskText, " to be filled");
  LONGSPAN_CHECK(static_cast<int64_t>(sequence.size()) <= options.length, record.place.text(), ": the text has ",
                 sequence.size(), " tokens, more than the ", options.length, " of a sequence");
  std::vector<FilledMask> out;
  for (const Filling& filling : fill(model, sequence, most)) {
    FilledMask filled;
    for (const auto& [token, probability] : filling.candidates)
      filled.candidates.emplace_back(tokenizer.token_text(static_cast<uint32_t>(token), false), probability);
    out.push_back(std::move(filled));
  }
  return out;
}

}  // namespace longspan::tasks
