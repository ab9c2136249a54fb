#include "longspan/models/model_state.h"

#include <ATen/ops/cat.h>

#include "longspan/base/check.h"

namespace longspan::models {

namespace {

template <class Each>
ModelState each(const ModelState& state, const Each& call) {
  ModelState out;
  for (const auto& layer : state.layers) out.layers.push_back(call(layer));
  return out;
}

}  // namespace

int64_t ModelState::bytes() const {
  int64_t total = positions.defined() ? static_cast<int64_t>(positions.nbytes()) : 0;
  for (const auto& layer : layers) total += layer.bytes();
  return total;
}

ModelState ModelState::clone() const {
  ModelState out = each(*this, [](const nn::State& layer) { return layer.clone(); });
  if (positions.defined()) out.positions = positions.clone();
  return out;
}

ModelState ModelState::detach() const {
  ModelState out = each(*this, [](const nn::State& layer) { return layer.detach(); });
  out.positions = positions;
  return out;
}

ModelState ModelState::select(const at::Tensor& index) const {
  ModelState out = each(*this, [&](const nn::State& layer) { return layer.select(index); });
  if (positions.defined()) out.positions = positions.index_select(0, index);
  return out;
}

ModelState ModelState::stack(const std::vector<ModelState>& states) {
  LONGSPAN_CHECK(!states.empty(), "state: there are no streams to stack");
  ModelState out;
  std::vector<at::Tensor> positions;
  for (const ModelState& state : states) {
    LONGSPAN_CHECK(state.layers.size() == states.front().layers.size(),
                   "state: streams to stack must come from one model, got ", states.front().layers.size(), " and ",
                   state.layers.size(), " layers");
    positions.push_back(state.positions);
  }
  for (std::size_t i = 0; i < states.front().layers.size(); ++i) {
    std::vector<nn::State> layer;
    for (const ModelState& state : states) layer.push_back(state.layers[i]);
    out.layers.push_back(nn::State::stack(layer));
  }
  out.positions = at::cat(positions);
  return out;
}

}  // namespace longspan::models
