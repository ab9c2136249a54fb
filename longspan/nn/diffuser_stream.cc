// Diffuser on streams: what later queries can reach of the past, and the pattern of what is new.
#include <algorithm>
#include <map>
#include <utility>

#include "longspan/base/check.h"
#include "longspan/nn/diffuser.h"
#include "longspan/nn/growing_rows.h"
#include "longspan/nn/packing.h"
#include "longspan/nn/rotary.h"
#include "longspan/nn/window_state.h"

namespace longspan::nn {
namespace {

/// Those of `rows`, then of `added`, that are kept when `added` has come: `dim` counts tokens.
at::Tensor kept_rows(const at::Tensor& rows, const at::Tensor& added, int64_t dim, const patterns::KeptTokens& before,
                     const patterns::KeptTokens& after) {
  if (after.size() == before.size() + added.size(dim)) return append_rows(rows, added, dim);
  std::vector<int64_t> kept;
  for (const int64_t position : after.positions()) kept.push_back(before.row_of(position));
  return at::cat({rows, added}, dim).index_select(dim, index_tensor(kept).to(rows.device()));
}

/// Zeros behind the rows of dimension 2 of `keys`, or 3 of `hops`.
at::Tensor pad(const at::Tensor& rows, int64_t dim, int64_t length) {
  const int64_t missing = length - rows.size(dim);
  return missing == 0 ? rows : at::constant_pad_nd(rows, {0, 0, 0, missing});
}

}  // namespace

void DiffuserAttention::check_streaming() const {
  const std::string reason = patterns::length_dependence(own_patterns()->options());
  LONGSPAN_CHECK(reason.empty(), "diffuser: the pattern ", own_patterns()->options().pattern,
                 " cannot be read as a stream: ", reason);
}

StateLayout DiffuserAttention::state_layout() const {
  const int64_t width = sizes().head_width();
  return {{"keys", {.sizes = {sizes().key_heads(), -1, width}}},
          {"hops", {.sizes = {sizes().heads, hops(), -1, width}}},
          {"count", {.dtype = at::kLong}}};
}

State DiffuserAttention::begin_self(int64_t batch) {
  check_streaming();
  const at::TensorOptions options = project_.options();
  const auto sums = options.dtype() == at::kDouble ? at::kDouble : at::kFloat;
  const int64_t width = sizes().head_width();
  return State({{"keys", at::zeros({batch, sizes().key_heads(), 0, width}, options)},
                {"hops", at::zeros({batch, sizes().heads, hops(), 0, width}, options.dtype(sums))},
                {"count", at::zeros({batch}, at::kLong)}});
}

State DiffuserAttention::begin_cross(const at::Tensor&, const std::optional<at::Tensor>&, int64_t) {
  throw InternalError("diffuser has no cross pattern");
}

void DiffuserAttention::check_rows_kept(const State& state) const {
  const int64_t keys = state.at("keys").size(2), hops = state.at("hops").size(3);
  LONGSPAN_CHECK(keys == hops, "diffuser: state must hold as many rows of hops as of keys, ", keys, ", got ", hops);
  for (const int64_t count : borders(state.at("count").contiguous())) {
    const int64_t kept = own_patterns()->kept(count).size();
    LONGSPAN_CHECK(kept <= keys, "diffuser: state of a stream of ", count, " tokens must hold ", kept,
                   " rows of keys, got ", keys);
  }
}

DiffuserAttention::Extended DiffuserAttention::extend_group(const Group& group, ops::DiffusionOptions options) const {
  const int64_t length = group.q.size(2);
  const auto made = own_patterns();
  const patterns::KeptTokens before = made->kept(group.count), after = made->kept(group.count + length);
  const DiffuserPatterns::Entry pattern = made->continued(group.count, length);
  // Of the past only what a new token sees: the rest of a long stream is not touched.
  const auto seen = [&](const at::Tensor& past, int64_t dim) {
    return pattern.rows ? past.index_select(dim, index_tensor(*pattern.rows).to(past.device())) : past;
  };
  std::optional<at::Tensor> positions;
  if (options.dropout_seed) {
    std::vector<int64_t> origin, all = before.positions();
    if (pattern.rows) {
      std::vector<int64_t> some;
      for (const int64_t row : *pattern.rows) some.push_back(all[static_cast<std::size_t>(row)]);
      all = std::move(some);
    }
    for (const int64_t row : group.rows) origin.insert(origin.end(), {row, 0});
    for (int64_t t = 0; t < length; ++t) all.push_back(group.count + t);
    options.dropout_origin = index_tensor(origin).view({-1, 2});
    positions = index_tensor(all);
  }
  const auto [out, added] =
      ops::diffusion_extend(group.q, at::cat({seen(group.keys, 2), group.k}, 2), group.v, coefficients(group.q),
                            seen(group.hops, 3), {{checked(pattern)}}, positions, options);
  return {out, kept_rows(group.keys, group.k, 2, before, after), kept_rows(group.hops, added, 3, before, after)};
}

at::Tensor DiffuserAttention::extend_packed(State& state, const at::Tensor& x, const std::optional<at::Tensor>& cu) {
  check_streaming();
  check_rows_kept(state);
  const RotaryPositions rotary(sizes(), x, cu, state.at("count"));
  const at::Tensor q = rotary.turn(project_.queries(x)), k = rotary.turn(project_.keys(x)), v = project_.values(x);
  const at::Tensor old_keys = state.at("keys").to(k.scalar_type());
  const at::Tensor old_hops = state.at("hops").to(q.scalar_type() == at::kDouble ? at::kDouble : at::kFloat);
  const std::vector<int64_t> counts = borders(state.at("count").contiguous());
  const std::vector<int64_t> starts = cu ? borders(*cu) : std::vector<int64_t>();
  const int64_t batch = state.batch();

  // One call of the operator for all streams of one age and one length: they have one pattern.
  std::map<std::pair<int64_t, int64_t>, std::vector<int64_t>> groups;
  for (int64_t b = 0; b < batch; ++b) groups[{counts[b], cu ? starts[b + 1] - starts[b] : x.size(1)}].push_back(b);
  if (groups.empty()) return x;
  const ops::DiffusionOptions options = operator_options();
  std::vector<at::Tensor> outputs(static_cast<std::size_t>(batch)), keys(outputs.size()), hops(outputs.size());
  int64_t longest = 0;
  for (const auto& [age, rows] : groups) {
    const auto& [count, length] = age;
    const bool everything = static_cast<int64_t>(rows.size()) == batch;
    const int64_t kept = own_patterns()->kept(count).size();
    const at::Tensor index = index_tensor(rows).to(x.device());
    const auto fresh = [&](const at::Tensor& all) {
      if (!cu) return everything ? all : all.index_select(0, index);
      std::vector<at::Tensor> out;
      for (const int64_t b : rows) out.push_back(all.narrow(2, starts[b], length));
      return at::cat(out, 0);
    };
    const auto past = [&](const at::Tensor& all, int64_t dim) {
      return (everything ? all : all.index_select(0, index)).narrow(dim, 0, kept);
    };
    const Extended after =
        extend_group({count, rows, fresh(q), fresh(k), fresh(v), past(old_keys, 2), past(old_hops, 3)}, options);
    if (everything) {
      state = State({{"keys", after.keys}, {"hops", after.hops}, {"count", state.at("count") + length}});
      return merge(cu ? at::cat(after.out.split(1, 0), 2) : after.out);
    }
    longest = std::max(longest, after.keys.size(2));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto at = static_cast<std::size_t>(rows[i]);
      const auto row = static_cast<int64_t>(i);
      outputs[at] = after.out.narrow(0, row, 1);
      keys[at] = after.keys.narrow(0, row, 1);
      hops[at] = after.hops.narrow(0, row, 1);
    }
  }
  for (at::Tensor& rows : keys) rows = pad(rows, 2, longest);
  for (at::Tensor& rows : hops) rows = pad(rows, 3, longest);
  State next({{"keys", at::cat(keys, 0)}, {"hops", at::cat(hops, 0)}, {"count", state.at("count")}});
  advance_count(next, x.size(1), cu);
  state = std::move(next);
  return merge(at::cat(outputs, cu ? 2 : 0));
}

}  // namespace longspan::nn
