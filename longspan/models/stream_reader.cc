#include "longspan/models/stream_reader.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace longspan::models {

StreamReader::StreamReader(LanguageModel& model, Session& session, Scores scores)
    : model_(model), session_(session), scores_(scores) {
  LONGSPAN_CHECK(session.state.batch() == 1, "stream reader: the session must hold one stream, got ",
                 session.state.batch());
  position_ = session.state.positions[0].item<int64_t>();
  scored_ = static_cast<int64_t>(session.pending.size());
  // A session of somebody else's making may hold any number of tokens.
  while (static_cast<int64_t>(session_.pending.size()) >= piece()) {
    std::vector<double> known;
    run(true, known);
  }
}

int64_t StreamReader::piece() const {
  const int64_t whole = kStreamPiece - position_ % kStreamPiece;
  const ModelConfig& config = model_.config();
  if (config.positions != Positions::learned) return whole;
  // No further than there are positions; beyond them the model says so.
  return std::clamp<int64_t>(config.max_positions - position_, 1, whole);
}

int64_t StreamReader::room() const { return piece() - static_cast<int64_t>(session_.pending.size()); }

std::vector<double> StreamReader::read(std::span<const int64_t> tokens) {
  const int64_t vocabulary = model_.config().vocabulary;
  for (const int64_t token : tokens)
    LONGSPAN_CHECK(token >= 0 && token < vocabulary, "stream reader: tokens must be from 0 to ", vocabulary - 1,
                   ", got ", token);
  std::vector<double> known;
  while (!tokens.empty()) {
    const auto next = std::min(tokens.size(), static_cast<std::size_t>(room()));
    session_.append(tokens.first(next));
    tokens = tokens.subspan(next);
    if (room() == 0) run(true, known);
  }
  return known;
}

std::vector<double> StreamReader::flush() {
  std::vector<double> known;
  if (waiting() > 0 && scores_ == Scores::on) run(false, known);
  return known;
}

void StreamReader::run(bool whole, std::vector<double>& known) {
  c10::InferenceMode inference;
  const int64_t size = piece();
  const int64_t given = std::min(size, static_cast<int64_t>(session_.pending.size()));
  at::Tensor tokens = torch::zeros({1, size}, torch::kLong);
  std::copy_n(session_.pending.begin(), given, tokens.mutable_data_ptr<int64_t>());
  ModelState next = session_.state;
  const at::Tensor hidden = model_.extend(next, tokens);

  if (scores_ == Scores::on && scored_ < given) {
    // Row i predicts token i: the row before the first stands in the session.
    const at::Tensor before = session_.last.defined() ? session_.last.to(hidden.scalar_type())
                                                      : torch::zeros({hidden.size(2)}, hidden.options());
    const at::Tensor rows = torch::cat({before.view({1, 1, -1}), hidden.narrow(1, 0, size - 1)}, 1);
    const at::Tensor nll = model_.nll(rows, tokens)[0].to(torch::kDouble);
    const double* value = nll.const_data_ptr<double>();
    for (int64_t i = scored_; i < given; ++i) {
      const bool predicted = i > 0 || session_.last.defined();
      if (predicted && !std::isfinite(value[i]))
        throw RunError(str_cat("stream reader: the loss of token ", position_ + i, " is not finite"));
      known.push_back(predicted ? value[i] : std::numeric_limits<double>::quiet_NaN());
    }
    scored_ = given;
  }
  if (!whole) return;
  session_.last = hidden[0][size - 1].clone();
  session_.state = std::move(next);
  session_.pending.erase(session_.pending.begin(), session_.pending.begin() + size);
  position_ += size;
  scored_ = std::max<int64_t>(scored_ - size, 0);
}

}  // namespace longspan::models
