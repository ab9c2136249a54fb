#include "longspan/models/stream_batch.h"

#include <algorithm>
#include <set>

namespace longspan::models {

namespace {

at::Tensor index_of(const std::vector<int64_t>& rows) { return torch::tensor(rows, torch::kLong); }

}  // namespace

StreamBatch::Id StreamBatch::add(ModelState state) {
  LONGSPAN_CHECK(state.batch() == 1, "stream batch: a state that joins must hold one stream, got ", state.batch());
  resting_.emplace(next_, std::move(state));
  return next_++;
}

int64_t StreamBatch::row_of(Id id) const {
  const auto found = std::find(ids_.begin(), ids_.end(), id);
  return found == ids_.end() ? -1 : found - ids_.begin();
}

bool StreamBatch::contains(Id id) const { return row_of(id) >= 0 || resting_.contains(id); }

void StreamBatch::check_known(Id id) const { LONGSPAN_CHECK(contains(id), "stream batch: there is no stream ", id); }

ModelState StreamBatch::remove(Id id) {
  check_known(id);
  if (auto resting = resting_.extract(id)) return std::move(resting.mapped());
  std::vector<int64_t> others;
  for (int64_t row = 0; row < static_cast<int64_t>(ids_.size()); ++row)
    if (ids_[static_cast<std::size_t>(row)] != id) others.push_back(row);
  ModelState out = rows_.select(index_of({row_of(id)}));
  rows_ = others.empty() ? ModelState() : rows_.select(index_of(others));
  std::erase(ids_, id);
  return out;
}

int64_t StreamBatch::position(Id id) const {
  check_known(id);
  const int64_t row = row_of(id);
  return row >= 0 ? rows_.positions[row].item<int64_t>() : resting_.at(id).positions[0].item<int64_t>();
}

int64_t StreamBatch::bytes() const {
  int64_t sum = rows_.bytes();
  for (const auto& [id, state] : resting_) sum += state.bytes();
  return sum;
}

/// Makes the rows those of `active`, in an order of their own.
void StreamBatch::arrange(const std::vector<Id>& active) {
  const std::set<Id> wanted(active.begin(), active.end());
  std::vector<Id> ids;
  std::vector<int64_t> kept;
  for (int64_t row = 0; row < static_cast<int64_t>(ids_.size()); ++row) {
    const Id id = ids_[static_cast<std::size_t>(row)];
    if (wanted.contains(id)) {
      ids.push_back(id);
      kept.push_back(row);
    } else {
      resting_.emplace(id, rows_.select(index_of({row})));
    }
  }
  std::vector<ModelState> parts;
  if (kept.size() == ids_.size() && !kept.empty())
    parts.push_back(std::move(rows_));
  else if (!kept.empty())
    parts.push_back(rows_.select(index_of(kept)));
  for (const Id id : wanted) {
    if (auto joining = resting_.extract(id)) {
      ids.push_back(id);
      parts.push_back(std::move(joining.mapped()));
    }
  }
  rows_ = parts.size() == 1 ? std::move(parts.front()) : ModelState::stack(parts);
  ids_ = std::move(ids);
}

std::vector<at::Tensor> StreamBatch::step(LanguageModel& model, const std::vector<Input>& inputs) {
  std::vector<Id> active;
  std::set<Id> seen;
  std::size_t longest = 0;
  for (const auto& [id, tokens] : inputs) {
    check_known(id);
    LONGSPAN_CHECK(seen.insert(id).second, "stream batch: stream ", id, " stands twice in one step");
    for (const int64_t token : tokens)
      LONGSPAN_CHECK(token >= 0 && token < model.config().vocabulary, "stream batch: tokens must be from 0 to ",
                     model.config().vocabulary - 1, ", got ", token);
    if (!tokens.empty()) active.push_back(id);
    longest = std::max(longest, tokens.size());
  }
  c10::InferenceMode inference;
  if (active.empty())
    return {inputs.size(), torch::empty({0, model.config().width}, model.weights().at("embedding").options())};
  arrange(active);

  const auto batch = static_cast<int64_t>(active.size()), length = static_cast<int64_t>(longest);
  at::Tensor tokens = torch::zeros({batch, length}, torch::kLong);
  at::Tensor valid = torch::zeros({batch, length}, torch::kBool);
  for (const auto& [id, given] : inputs) {
    if (given.empty()) continue;
    const int64_t row = row_of(id);
    std::copy(given.begin(), given.end(), tokens[row].mutable_data_ptr<int64_t>());
    valid[row].narrow(0, 0, static_cast<int64_t>(given.size())).fill_(true);
  }
  const bool even = valid.all().item<bool>();
  ModelState next = rows_;
  const at::Tensor hidden = model.extend(next, tokens, even ? std::nullopt : std::optional(valid));
  rows_ = std::move(next);
  std::vector<at::Tensor> out;
  for (const auto& [id, given] : inputs) {
    const int64_t row = given.empty() ? 0 : row_of(id);
    out.push_back(hidden[row].narrow(0, 0, static_cast<int64_t>(given.size())));
  }
  return out;
}

}  // namespace longspan::models
