#include "longspan/nn/softmax.h"

#include <algorithm>

#include "longspan/nn/cost.h"
#include "longspan/nn/dense_weights.h"
#include "longspan/nn/merged_attention.h"
#include "longspan/nn/packing.h"
#include "longspan/nn/rotary.h"
#include "longspan/nn/usable_options.h"

namespace longspan::nn {
namespace {

/// q [B, H, N, D], k and v [B, Hk, M, D]; a query without keys gives 0.
at::Tensor attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, bool causal) {
  return at::scaled_dot_product_attention(q, spread_heads(k, q.size(1)), spread_heads(v, q.size(1)), {}, 0.0, causal);
}

/// merged_attention() of k and v [B, Hk, M, D].
at::Tensor merged(const at::Tensor& q, const at::Tensor& past_k, const at::Tensor& past_v, const at::Tensor& k,
                  const at::Tensor& v) {
  const int64_t heads = q.size(1);
  return merged_attention(q, spread_heads(past_k, heads), spread_heads(past_v, heads), spread_heads(k, heads),
                          spread_heads(v, heads));
}

/// Rows of stream b: of a dense batch, or of a pack with borders.
at::Tensor stream(const at::Tensor& t, int64_t b, const std::vector<int64_t>& starts) {
  return starts.empty() ? t.narrow(0, b, 1) : t.narrow(2, starts[b], starts[b + 1] - starts[b]);
}

std::vector<int64_t> optional_borders(const std::optional<at::Tensor>& cu) {
  return cu ? borders(*cu) : std::vector<int64_t>();
}

/// The streams' results, as they came: a batch, or a pack. `like`: q, for when there is no stream at all.
at::Tensor gather_streams(const std::vector<at::Tensor>& parts, bool packed, const at::Tensor& like) {
  return parts.empty() ? like : at::cat(parts, packed ? 2 : 0);
}

/// `rows` [1, H, n, D] with zeros behind up to `length` rows.
at::Tensor pad_rows(const at::Tensor& rows, int64_t length) {
  return rows.size(2) == length ? rows : at::constant_pad_nd(rows, {0, 0, 0, length - rows.size(2)}, 0);
}

/// What the layout of a state cannot say: every stream's rows are there.
void check_lengths(const State& state) {
  const int64_t keys = state.at("keys").size(2), values = state.at("values").size(2);
  LONGSPAN_CHECK(keys == values, "softmax: state must hold as many values as keys, ", keys, ", got ", values);
  for (const int64_t count : borders(state.at("count").contiguous()))
    LONGSPAN_CHECK(count <= keys, "softmax: state tensor count must be at most ", keys, ", the rows of keys, got ",
                   count);
}

/// The option is another name of the rotary positions that every method knows.
AttentionSizes with_rope(AttentionSizes sizes, Pattern pattern, const SoftmaxOptions& options) {
  softmax_fields().validate(options);
  refuse_idle("softmax", {{.when = {{"rope", false}}, .idle = {"rope_base"}}}, softmax_fields().infos(),
              softmax_fields().values(options));
  if (!options.rope) return sizes;
  LONGSPAN_CHECK(!is_cross(pattern), "softmax: rope has no use in the pattern ", to_string(pattern), ", got true");
  LONGSPAN_CHECK(sizes.rotary_base == 0, "softmax: rope must be false where the positions are rotary, got true");
  LONGSPAN_CHECK(sizes.heads < 1 || sizes.head_width() % 2 == 0, "softmax: rope needs an even head width, got ",
                 sizes.head_width());
  sizes.rotary_base = options.rope_base;
  return sizes;
}

bool all_equal(const std::vector<int64_t>& values) {
  return std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) == values.end();
}

}  // namespace

const FieldTable<SoftmaxOptions>& softmax_fields() {
  static const auto table =
      FieldTable<SoftmaxOptions>("softmax")
          .boolean("rope", &SoftmaxOptions::rope, "rotary position encoding of queries and keys")
          .real("rope_base", &SoftmaxOptions::rope_base, {1.0, 1e12}, "base of the rotary frequencies");
  return table;
}

std::vector<std::string> softmax_unused(Pattern pattern) {
  return is_cross(pattern) ? std::vector<std::string>{"rope", "rope_base"} : std::vector<std::string>{};
}

SoftmaxAttention::SoftmaxAttention(Pattern pattern, AttentionSizes sizes, SoftmaxOptions options)
    : Attention("softmax", pattern, with_rope(sizes, pattern, options)),
      options_(options),
      project_(*this, sizes, pattern) {}

FieldValues SoftmaxAttention::options() const {
  return with_nulls(softmax_fields().values(options_), softmax_unused(pattern()));
}

AttentionCost SoftmaxAttention::cost(int64_t queries, int64_t keys) const {
  const double width = static_cast<double>(sizes().width);
  const bool causal = pattern() == Pattern::causal_self;
  AttentionCost out;
  out.flops = 4 * width *
              (causal ? band_pairs(queries, keys, keys, 0) : static_cast<double>(queries) * static_cast<double>(keys));
  const int64_t key_width = sizes().key_heads() * sizes().head_width();
  out.bytes = row_bytes(queries, keys, sizes().width, key_width);
  if (pattern() != Pattern::noncausal_self) out.state_bytes = 4 * 2 * static_cast<double>(keys * key_width) + 8;
  return out;
}

at::Tensor SoftmaxAttention::attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
  return attention(q, k, v, pattern() == Pattern::causal_self);
}

at::Tensor SoftmaxAttention::forward_packed(const at::Tensor& x, const Packed& packed) {
  const bool causal = pattern() == Pattern::causal_self;
  const at::Tensor& source = packed.source ? *packed.source : x;
  const RotaryPositions rotary(sizes(), x, packed.cu);
  const at::Tensor q = rotary.turn(project_.queries(x)), k = rotary.turn(project_.keys(source));
  const at::Tensor v = project_.values(source);
  if (!packed.cu) return project_.merge(attention(q, k, v, causal));
  const std::vector<int64_t> starts = borders(*packed.cu);
  const std::vector<int64_t> source_starts = packed.source_cu ? borders(*packed.source_cu) : starts;
  std::vector<at::Tensor> parts;
  for (std::size_t s = 0; s + 1 < starts.size(); ++s) {
    const auto b = static_cast<int64_t>(s);
    parts.push_back(attention(stream(q, b, starts), stream(k, b, source_starts), stream(v, b, source_starts), causal));
  }
  return project_.merge(gather_streams(parts, true, q));
}

StateLayout SoftmaxAttention::state_layout() const {
  const StateEntry rows = {.sizes = {sizes().key_heads(), -1, sizes().head_width()}};
  return {{"keys", rows}, {"values", rows}, {"count", {.dtype = at::kLong}}};
}

State SoftmaxAttention::begin_self(int64_t batch) {
  const auto empty = [&] {
    return at::zeros({batch, sizes().key_heads(), 0, sizes().head_width()}, project_.options());
  };
  return State({{"keys", empty()}, {"values", empty()}, {"count", at::zeros({batch}, at::kLong)}});
}

State SoftmaxAttention::begin_cross(const at::Tensor& source, const std::optional<at::Tensor>& source_cu,
                                    int64_t batch) {
  const at::Tensor k = project_.keys(source), v = project_.values(source);
  if (!source_cu) return State({{"keys", k}, {"values", v}, {"count", at::full({batch}, source.size(1), at::kLong)}});
  const std::vector<int64_t> starts = borders(*source_cu);
  const at::Tensor lengths = source_cu->diff();
  const int64_t longest = batch > 0 ? lengths.max().item<int64_t>() : 0;
  std::vector<at::Tensor> keys, values;
  for (int64_t b = 0; b < batch; ++b) {
    keys.push_back(pad_rows(stream(k, b, starts), longest));
    values.push_back(pad_rows(stream(v, b, starts), longest));
  }
  return State({{"keys", at::cat(keys, 0)}, {"values", at::cat(values, 0)}, {"count", lengths}});
}

at::Tensor SoftmaxAttention::read_source(const State& state, const at::Tensor& q,
                                         const std::optional<at::Tensor>& cu) const {
  const std::vector<int64_t> counts = borders(state.at("count").contiguous());
  const at::Tensor keys = state.at("keys").to(q.scalar_type()), values = state.at("values").to(q.scalar_type());
  if (!cu && all_equal(counts)) {
    const int64_t length = counts.empty() ? 0 : counts.front();
    return attention(q, keys.narrow(2, 0, length), values.narrow(2, 0, length), false);
  }
  const std::vector<int64_t> starts = optional_borders(cu);
  std::vector<at::Tensor> parts;
  for (int64_t b = 0; b < state.batch(); ++b)
    parts.push_back(attention(stream(q, b, starts), keys.narrow(0, b, 1).narrow(2, 0, counts[b]),
                              values.narrow(0, b, 1).narrow(2, 0, counts[b]), false));
  return gather_streams(parts, cu.has_value(), q);
}

at::Tensor SoftmaxAttention::extend_self(State& state, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                         const std::optional<at::Tensor>& cu) const {
  const std::vector<int64_t> counts = borders(state.at("count").contiguous());
  const at::Tensor old_keys = state.at("keys").to(k.scalar_type()), old_values = state.at("values").to(v.scalar_type());
  if (!cu && all_equal(counts)) {
    const int64_t length = counts.empty() ? 0 : counts.front();
    const at::Tensor past_k = old_keys.narrow(2, 0, length), past_v = old_values.narrow(2, 0, length);
    const at::Tensor out = merged(q, past_k, past_v, k, v);
    state = State({{"keys", at::cat({past_k, k}, 2)},
                   {"values", at::cat({past_v, v}, 2)},
                   {"count", state.at("count") + k.size(2)}});
    return out;
  }
  const std::vector<int64_t> starts = optional_borders(cu);
  const at::Tensor total = state.at("count") + (cu ? cu->diff() : at::full({state.batch()}, k.size(2), at::kLong));
  const int64_t longest = state.batch() > 0 ? total.max().item<int64_t>() : 0;
  std::vector<at::Tensor> parts, keys, values;
  for (int64_t b = 0; b < state.batch(); ++b) {
    const at::Tensor past_k = old_keys.narrow(0, b, 1).narrow(2, 0, counts[b]);
    const at::Tensor past_v = old_values.narrow(0, b, 1).narrow(2, 0, counts[b]);
    const at::Tensor new_k = stream(k, b, starts), new_v = stream(v, b, starts);
    parts.push_back(merged(stream(q, b, starts), past_k, past_v, new_k, new_v));
    keys.push_back(pad_rows(at::cat({past_k, new_k}, 2), longest));
    values.push_back(pad_rows(at::cat({past_v, new_v}, 2), longest));
  }
  if (!parts.empty()) state = State({{"keys", at::cat(keys, 0)}, {"values", at::cat(values, 0)}, {"count", total}});
  return gather_streams(parts, cu.has_value(), q);
}

at::Tensor SoftmaxAttention::extend_packed(State& state, const at::Tensor& x, const std::optional<at::Tensor>& cu) {
  check_lengths(state);
  if (is_cross(pattern())) return project_.merge(read_source(state, project_.queries(x), cu));
  const RotaryPositions rotary(sizes(), x, cu, state.at("count"));
  const at::Tensor q = rotary.turn(project_.queries(x)), k = rotary.turn(project_.keys(x)), v = project_.values(x);
  return project_.merge(extend_self(state, q, k, v, cu));
}

std::map<std::string, at::Tensor> SoftmaxAttention::inspect_dense(const at::Tensor& x,
                                                                  const std::optional<at::Tensor>& source) {
  const at::Tensor& rows = source ? *source : x;
  const RotaryPositions rotary(sizes(), x, std::nullopt);
  at::Tensor hidden;
  if (pattern() == Pattern::causal_self)
    hidden = at::ones({x.size(1), x.size(1)}, x.options().dtype(at::kBool)).triu(1);
  return {{"weights", dense_weights(rotary.turn(project_.queries(x)), rotary.turn(project_.keys(rows)), hidden)},
          {"values", spread_heads(project_.values(rows).to(at::kDouble), sizes().heads)}};
}

}  // namespace longspan::nn
