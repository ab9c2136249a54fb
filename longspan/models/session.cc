#include "longspan/models/session.h"

#include "longspan/models/language_model.h"

namespace longspan::models {

void RecentTokens::push(std::span<const int64_t> tokens) {
  const auto limit = static_cast<std::size_t>(kRecentTokens);
  if (tokens.size() > limit) tokens = tokens.last(limit);
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  if (tokens_.size() >= 2 * limit) tokens_.erase(tokens_.begin(), tokens_.end() - kRecentTokens);
}

std::span<const int64_t> RecentTokens::view() const {
  const std::span<const int64_t> all(tokens_);
  return all.last(std::min(all.size(), static_cast<std::size_t>(kRecentTokens)));
}

int64_t Session::tokens() const {
  return (state.batch() > 0 ? state.positions[0].item<int64_t>() : 0) + static_cast<int64_t>(pending.size());
}

void Session::append(std::span<const int64_t> more) {
  pending.insert(pending.end(), more.begin(), more.end());
  recent.push(more);
}

Session begin_session(const LanguageModel& model) {
  Session session;
  session.state = model.begin(1);
  return session;
}

void read_pending(LanguageModel& model, Session& session) {
  if (session.pending.empty()) return;
  c10::InferenceMode inference;
  const at::Tensor tokens = torch::tensor(session.pending, torch::kLong).unsqueeze(0);
  ModelState next = session.state;
  const at::Tensor hidden = model.extend(next, tokens);
  session.last = hidden[0][hidden.size(1) - 1].clone();
  session.state = std::move(next);
  session.pending.clear();
}

}  // namespace longspan::models
