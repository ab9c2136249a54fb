#include "longspan/tasks/fill_text.h"

#include <string_view>

#include "longspan/base/check.h"
#include "longspan/tasks/evaluate.h"

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
  const std::string_view mask = kMaskText;
  std::string_view rest = record.text;
  bool any = false;
  for (auto at = rest.find(mask); at != std::string_view::npos; at = rest.find(mask)) {
    any = true;
    append(rest.substr(0, at));
    sequence.push_back(options.special.mask);
    rest.remove_prefix(at + mask.size());
  }
  append(rest);
  sequence.push_back(options.special.separator);
  LONGSPAN_CHECK(any, record.place.text(), ": the text has no ", kMaskText, " to be filled");
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
