#include "tools/longspan/task/reading_flags.h"

#include <CLI/CLI.hpp>
#include <cmath>

#include "longspan/base/check.h"
#include "tools/longspan/field_flags.h"

namespace longspan::tool {

void ReadingFlags::add(CLI::App& app, bool best) {
  app.add_option("--length", length_, "tokens of a sequence at the most (default: as in training)")
      ->check(CLI::Range(8, 1 << 30));
  app.add_option("--answer-tokens", answer_tokens_, "question: tokens of the longest answer (default: of the model)")
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--threshold", threshold_,
                 "question: no answer is given where the score of none is higher than the best by more (default: 0)");
  if (best)
    app.add_option("--best", best_, "question: so many answers, the likeliest first (default: 1)")
        ->check(CLI::Range(1, 1000));
  add_field_flags(app, "Texts longer than a sequence (as in training unless given)", tasks::window_fields().infos(),
                  {"train_windows", "learn_answers"}, windows_);
}

tasks::SequenceOptions ReadingFlags::sequences(const models::LoadedEncoder& loaded) const {
  tasks::TaskOptions options = trained_options(loaded);
  tasks::window_fields().apply(options.windows, windows_);
  const models::EncoderConfig& encoder = loaded.model->encoder_config();
  tasks::SequenceOptions out;
  out.tokenizer = loaded.tokenizer.get();
  out.special = special_tokens(encoder);
  out.kind = loaded.model->head_config().kind;
  out.whole_words = out.kind == models::HeadKind::masked_language && options.masking.whole_words;
  out.length = length_ > 0 ? length_ : options.train.length;
  out.windows = tasks::in_windows(options.windows.long_texts, out.kind);
  out.stride = options.windows.stride;
  LONGSPAN_CHECK(encoder.positions != models::Positions::learned || out.length <= encoder.max_positions,
                 "--length: the model has learnt ", encoder.max_positions, " positions, got ", out.length);
  return out;
}

tasks::AnswerOptions ReadingFlags::answers(const models::LoadedEncoder& loaded) const {
  const models::HeadKind kind = loaded.model->head_config().kind;
  const char* given = answer_tokens_ ? "--answer-tokens" : threshold_ ? "--threshold" : "--best";
  LONGSPAN_CHECK(kind == models::HeadKind::question || (!answer_tokens_ && !threshold_ && !best_), given,
                 ": the model is for ", to_string(kind), ", not for question");
  LONGSPAN_CHECK(!threshold_ || !std::isnan(*threshold_), "--threshold: expected a number, got nan");
  tasks::AnswerOptions out;
  out.longest = answer_tokens_.value_or(0);
  out.threshold = threshold_.value_or(0);
  out.best = best_.value_or(1);
  return out;
}

tasks::TaskOptions trained_options(const models::LoadedEncoder& loaded) {
  tasks::TaskOptions out;
  if (const auto task = loaded.config.find("task"); task != loaded.config.end()) tasks::merge_json(out, *task);
  return out;
}

}  // namespace longspan::tool
