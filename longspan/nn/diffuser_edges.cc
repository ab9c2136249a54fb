// Diffuser's pairs of one's own: read from a file once, kept with the weights from then on.
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <span>
#include <vector>

#include "longspan/base/check.h"
#include "longspan/data/edge_file.h"
#include "longspan/nn/diffuser.h"
#include "longspan/nn/given_buffers.h"
#include "longspan/nn/packing.h"

namespace longspan::nn {

void DiffuserAttention::keep_edges() {
  const c10::InferenceMode normal(false);  // their versions say when weights were read into them
  if (const auto sizes = kept_edges(options_.edges)) {
    edge_begin_ = at::full({sizes->tokens + 1}, -1, at::kLong);
    edge_keys_ = at::empty({sizes->pairs}, at::kInt);
  } else {
    const patterns::EdgeList list = read_edges(options_.edges);
    edge_begin_ = at::empty({list.n + 1}, at::kLong);
    edge_keys_ = at::empty({static_cast<int64_t>(list.pairs.size())}, at::kInt);
    auto* begin = edge_begin_.mutable_data_ptr<int64_t>();
    std::transform(list.pairs.begin(), list.pairs.end(), edge_keys_.mutable_data_ptr<int32_t>(),
                   [](uint64_t pair) { return static_cast<int32_t>(pair & 0xFFFFFFFF); });
    for (int64_t i = 0, at = 0; i <= list.n; ++i) {
      begin[i] = at;
      if (i < list.n) at += std::ssize(list.of_query(i));
    }
    options_.edges = name_of(KeptEdges{list.n, edge_keys_.numel()});
  }
  register_buffer(str_cat(kGivenBuffer, "edge_begin"), edge_begin_);
  register_buffer(str_cat(kGivenBuffer, "edge_keys"), edge_keys_);
}

std::optional<patterns::EdgeList> DiffuserAttention::edges() const {
  if (!edge_keys_.defined()) return std::nullopt;
  const std::span begin(edge_begin_.const_data_ptr<int64_t>(), static_cast<std::size_t>(edge_begin_.numel()));
  LONGSPAN_CHECK(begin.front() != -1, "diffuser: edges = ", options_.edges,
                 " are those of a saved model, whose weights must be read first");
  const auto* keys = edge_keys_.const_data_ptr<int32_t>();
  return patterns::edges_from_csr(begin, std::vector<int64_t>(keys, keys + edge_keys_.numel()),
                                  "diffuser: edges of the model", edge_begin_.numel() - 1);
}

template <class Move>
void DiffuserAttention::move_all_but_edges(const Move& move) {
  if (!edge_keys_.defined()) return move();
  const at::Tensor begin = edge_begin_.detach(), keys = edge_keys_.detach();
  move();
  edge_begin_.set_data(begin);
  edge_keys_.set_data(keys);
}

void DiffuserAttention::to(torch::Device device, torch::Dtype dtype, bool non_blocking) {
  move_all_but_edges([&] { torch::nn::Module::to(device, dtype, non_blocking); });
}
void DiffuserAttention::to(torch::Dtype dtype, bool non_blocking) {
  move_all_but_edges([&] { torch::nn::Module::to(dtype, non_blocking); });
}
void DiffuserAttention::to(torch::Device device, bool non_blocking) {
  move_all_but_edges([&] { torch::nn::Module::to(device, non_blocking); });
}

}  // namespace longspan::nn
