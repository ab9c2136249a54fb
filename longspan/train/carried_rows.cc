#include "longspan/train/carried_rows.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>

#include <optional>

#include "longspan/nn/registry.h"

namespace longspan::train {

namespace {

std::string positions_name() { return str_cat(kCarried, "positions"); }

std::string prefix(std::size_t layer) { return str_cat(kCarried, layer, "."); }

}  // namespace

CarriedRows::CarriedRows(const TokenFile& tokens, const DocumentIndex* documents, const TrainOptions& options,
                         const models::LanguageModel& model, const Rows& own)
    : tokens_(tokens),
      documents_(documents),
      options_(options),
      own_(own),
      part_((tokens.size() - 1) / options.batch),
      segments_(part_ / options.length) {
  LONGSPAN_CHECK(segments_ >= 1, tokens.path(), ": the ", options.batch, " parts that carried rows read have ", part_,
                 " tokens each, fewer than length = ", options.length);
  const models::ModelConfig& config = model.config();
  LONGSPAN_CHECK(nn::find_attention(config.attention).streaming, config.attention,
                 ": cannot stream, so there is no state that rows could carry");
  LONGSPAN_CHECK(config.positions != models::Positions::learned || segments_ * options.length <= config.max_positions,
                 "train: carried rows go up to position ", segments_ * options.length - 1,
                 ", but learned positions end at max_positions = ", config.max_positions);
  carried_ = model.begin(own.count);
}

int64_t CarriedRows::begin(int64_t step, int64_t row) const { return row * part_ + step % segments_ * options_.length; }

int64_t CarriedRows::targets(int64_t step) const {
  if (!documents_) return options_.batch * options_.length;
  int64_t total = 0;
  for (int64_t row = 0; row < options_.batch; ++row)
    total += total_size(within_documents(*documents_, begin(step, row), options_.length));
  return total;
}

at::Tensor CarriedRows::extended_nll(models::LanguageModel& model, models::ModelState& state, const at::Tensor& read,
                                     const models::DropoutKey& dropout) const {
  const int64_t size = read.size(1) - 1;
  const at::Tensor hidden = model.extend(state, read.narrow(1, 0, size), std::nullopt, dropout);
  return model.nll(hidden, read.narrow(1, 1, size), options_.loss_chunk).flatten();
}

/// A row in which documents may end: its first document goes on from the state, its last one leaves a state, and those
/// between are a pack.
at::Tensor CarriedRows::row_nll(models::LanguageModel& model, int64_t begin, models::ModelState& state,
                                const models::DropoutKey& dropout) {
  const int64_t end = begin + options_.length;
  const int64_t first = documents_->find(begin), last = documents_->find(end);
  const auto key = [&](const Span& span) {
    return models::DropoutKey{dropout.seed, dropout.first_token + span.begin - begin};
  };
  const auto extend = [&](const Span& span) {
    return extended_nll(model, state, note(read_rows(tokens_, {span.begin}, span.size)), key(span));
  };
  if (first == last) return extend({begin, options_.length});

  std::vector<Span> spans = within_documents(*documents_, begin, options_.length);
  std::vector<at::Tensor> parts;
  if (documents_->begin(first) < begin && !spans.empty() && spans.front().begin == begin) {
    parts.push_back(extend(spans.front()));
    spans.erase(spans.begin());
  }
  state = model.begin(1);
  std::optional<Span> open;
  if (documents_->begin(last) < end) {
    open = spans.back();
    spans.pop_back();
  }
  if (!spans.empty()) {
    const TokenPack pack = read_pack(tokens_, spans);
    note(pack.inputs);
    parts.push_back(packed_nll(model, pack, key(spans.front()), options_.loss_chunk));
  }
  if (open) parts.push_back(extend(*open));
  // Documents of one token predict nothing.
  return parts.empty() ? at::empty({0}, model.parameters().front().options().requires_grad(false)) : at::cat(parts);
}

at::Tensor CarriedRows::nll(models::LanguageModel& model, int64_t step, const Rows& rows, uint64_t dropout_seed) {
  const at::Tensor places = at::arange(rows.first - own_.first, rows.first - own_.first + rows.count, at::kLong);
  models::ModelState state = step % segments_ == 0 ? model.begin(rows.count) : carried_.select(places);
  std::vector<int64_t> begins;
  for (int64_t row = rows.first; row < rows.first + rows.count; ++row) begins.push_back(begin(step, row));
  const int64_t first_token = rows.first * options_.length;
  at::Tensor out;
  if (!documents_) {
    out = extended_nll(model, state, note(read_rows(tokens_, begins, options_.length)), {dropout_seed, first_token});
  } else {
    std::vector<at::Tensor> parts;
    std::vector<models::ModelState> states;
    for (int64_t i = 0; i < rows.count; ++i) {
      states.push_back(state.select(at::arange(i, i + 1, at::kLong)));
      parts.push_back(row_nll(model, begins[static_cast<std::size_t>(i)], states.back(),
                              {dropout_seed, first_token + i * options_.length}));
    }
    out = at::cat(parts);
    state = models::ModelState::stack(states);
  }
  next_[rows.first] = state.detach();
  return out;
}

void CarriedRows::begin_step() {
  StepReader::begin_step();
  next_.clear();
}

void CarriedRows::commit() {
  if (next_.empty()) return;
  std::vector<models::ModelState> states;
  for (auto& [first, state] : next_) states.push_back(std::move(state));
  next_.clear();
  carried_ = models::ModelState::stack(states);
}

models::NamedTensors CarriedRows::state() const {
  models::NamedTensors out = {{positions_name(), carried_.positions}};
  for (std::size_t i = 0; i < carried_.layers.size(); ++i)
    for (const auto& [name, tensor] : carried_.layers[i].tensors()) out[prefix(i) + name] = tensor;
  return out;
}

void CarriedRows::set_state(const models::NamedTensors& tensors, const std::string& origin) {
  const models::NamedTensors fresh = state();
  for (const auto& [name, tensor] : fresh) {
    const auto found = tensors.find(name);
    LONGSPAN_CHECK(found != tensors.end(), origin, ": tensor '", name, "' is missing");
    bool fits = found->second.dim() == tensor.dim() && found->second.size(0) == tensor.size(0) &&
                found->second.is_floating_point() == tensor.is_floating_point();
    // A cache grows from nothing.
    for (int64_t dim = 1; fits && dim < tensor.dim(); ++dim)
      fits = tensor.size(dim) == 0 || found->second.size(dim) == tensor.size(dim);
    LONGSPAN_CHECK(fits, origin, ": tensor '", name, "' must be like ", tensor.sizes(), " of ", own_.count,
                   " rows, got ", found->second.sizes());
  }
  carried_.positions = tensors.at(positions_name());
  for (std::size_t i = 0; i < carried_.layers.size(); ++i) {
    nn::State layer;
    for (const auto& [name, tensor] : carried_.layers[i].tensors()) layer.set(name, tensors.at(prefix(i) + name));
    carried_.layers[i] = std::move(layer);
  }
}

}  // namespace longspan::train
