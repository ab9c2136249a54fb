#include "longspan/nn/window_state.h"

#include <algorithm>

#include "longspan/nn/packing.h"

namespace longspan::nn {
namespace {

/// Rows of cat(ring rows, new rows) to take: for the joined keys of every stream, and for the ring after them.
struct Rows {
  at::Tensor joined, ring, cu;
};

Rows packed_rows(const State& state, const at::Tensor& cu) {
  const int64_t reach = state.at("keys").size(2), batch = state.batch();
  const std::vector<int64_t> fill = window_fills(state), starts = borders(cu);
  std::vector<int64_t> joined, ring, lengths;
  for (int64_t b = 0; b < batch; ++b) {
    const int64_t length = starts[b + 1] - starts[b];
    // Row t of the stream's ring, holes included, followed by its new rows.
    const auto row = [&](int64_t t) { return t < reach ? b * reach + t : batch * reach + starts[b] + t - reach; };
    for (int64_t t = reach - fill[b]; t < reach + length; ++t) joined.push_back(row(t));
    for (int64_t t = length; t < reach + length; ++t) ring.push_back(row(t));
    lengths.push_back(fill[b] + length);
  }
  return {index_tensor(joined), index_tensor(ring), cu_from_lengths(lengths)};
}

/// [B, H, T, D] -> [H, B T, D].
at::Tensor rows_of(const at::Tensor& t) {
  return t.transpose(0, 1).reshape({t.size(1), t.size(0) * t.size(2), t.size(3)});
}

}  // namespace

void begin_window(State& state, int64_t batch, int64_t heads, int64_t reach, int64_t width, int64_t value_width,
                  const at::TensorOptions& options) {
  state.set("keys", at::zeros({batch, heads, reach, width}, options));
  state.set("values", at::zeros({batch, heads, reach, value_width}, options));
  state.set("count", at::zeros({batch}, at::kLong));
}

void describe_window(StateLayout& layout, int64_t heads, int64_t reach, int64_t width, int64_t value_width) {
  layout["keys"] = {.sizes = {heads, reach, width}};
  layout["values"] = {.sizes = {heads, reach, value_width}};
  layout["count"] = {.dtype = at::kLong};
}

std::vector<int64_t> window_fills(const State& state) {
  const int64_t reach = state.at("keys").size(2);
  std::vector<int64_t> out = borders(state.at("count").cpu().contiguous());
  for (int64_t& count : out) count = std::min(count, reach);
  return out;
}

at::Tensor dropout_origin(const State& state) {
  const std::vector<int64_t> fill = window_fills(state), count = borders(state.at("count").cpu().contiguous());
  std::vector<int64_t> out;
  for (std::size_t b = 0; b < fill.size(); ++b) out.insert(out.end(), {static_cast<int64_t>(b), count[b] - fill[b]});
  return index_tensor(out).view({-1, 2});
}

bool is_even(const State& state) {
  const std::vector<int64_t> fill = window_fills(state);
  return std::adjacent_find(fill.begin(), fill.end(), std::not_equal_to<>()) == fill.end();
}

WindowRows join_window(State& state, const NewRows& fresh, const std::optional<at::Tensor>& cu) {
  const int64_t reach = state.at("keys").size(2), batch = state.batch();
  WindowRows out;
  std::optional<Rows> rows;
  if (cu) {
    rows = packed_rows(state, *cu);
    out.cu = rows->cu;
  }
  const int64_t fill = cu || batch == 0 ? 0 : window_fills(state).front();
  for (const auto& [name, given] : fresh) {
    const at::Tensor ring = state.at(name).to(given.scalar_type());
    if (!cu) {
      const int64_t length = given.size(2);
      const at::Tensor all = at::cat({ring, given}, 2);
      state.set(name, all.narrow(2, length, reach).contiguous());  // a view would keep all the new rows alive
      out.rows[name] = all.narrow(2, reach - fill, fill + length);
      continue;
    }
    const at::Tensor all = at::cat({rows_of(ring), rows_of(given)}, 1);
    const auto device = all.device();
    state.set(name, all.index_select(1, rows->ring.to(device))
                        .view({given.size(1), batch, reach, given.size(3)})
                        .transpose(0, 1)
                        .contiguous());
    out.rows[name] = all.index_select(1, rows->joined.to(device)).unsqueeze(0);
  }
  return out;
}

void advance_count(State& state, int64_t length, const std::optional<at::Tensor>& cu) {
  state.set("count", cu ? state.at("count") + cu->diff() : state.at("count") + length);
}

}  // namespace longspan::nn
