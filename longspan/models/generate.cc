#include "longspan/models/generate.h"

#include "longspan/models/stream_reader.h"

namespace longspan::models {

const FieldTable<GenerateOptions>& generate_fields() {
  using O = GenerateOptions;
  static const auto table =
      FieldTable<O>("generate")
          .integer("tokens", &O::tokens, {0, 1e15}, "tokens to draw")
          .real("temperature", &O::temperature, {0, 100}, "0 takes the most likely token")
          .integer("top_k", &O::top_k, {0, 1 << 24}, "draw among the k most likely, 0 = all")
          .real("top_p", &O::top_p, {0, 1}, "draw among the likeliest that make up this probability")
          .real("min_p", &O::min_p, {0, 1}, "draw among those at least this many times as probable as the likeliest")
          .real("repetition_penalty", &O::repetition_penalty, {0.01, 100},
                "divides the logits of recent tokens where they are positive, multiplies them where negative")
          .integer("repetition_window", &O::repetition_window, {0, static_cast<double>(kRecentTokens)},
                   "how many of the last tokens are penalised, those of the prompt included")
          .integer("seed", &O::seed, {0, 0x1p53}, "of the draws");
  return table;
}

std::vector<int64_t> generate(LanguageModel& model, Session& session, const GenerateOptions& options,
                              const TokenCallback& on_token) {
  generate_fields().validate(options);
  LONGSPAN_CHECK(session.state.batch() == 1, "generate: the session must hold one stream, got ", session.state.batch());
  LONGSPAN_CHECK(session.tokens() > 0, "generate: the prompt must have at least one token");
  c10::InferenceMode inference;
  session.seed = options.seed;
  std::vector<int64_t> out;
  for (int64_t position = session.tokens(); static_cast<int64_t>(out.size()) < options.tokens; ++position) {
    read_pending(model, session);
    out.push_back(sample(model.logits(session.last), options, session.recent.view(), draw_of(options.seed, position)));
    session.append({&out.back(), 1});
    if (on_token && !on_token(out.back())) break;
  }
  return out;
}

std::vector<int64_t> generate(LanguageModel& model, const std::vector<int64_t>& prompt, const GenerateOptions& options,
                              const TokenCallback& on_token) {
  Session session = begin_session(model);
  StreamReader(model, session, StreamReader::Scores::off).read(prompt);
  return generate(model, session, options, on_token);
}

}  // namespace longspan::models
