#include "longspan/nn/local.h"

#include "longspan/nn/cost.h"
#include "longspan/nn/dense_weights.h"
#include "longspan/nn/packing.h"
#include "longspan/nn/rotary.h"
#include "longspan/nn/usable_options.h"
#include "longspan/nn/window_state.h"
#include "longspan/ops/local_attention/local_attention.h"

namespace longspan::nn {

const FieldTable<LocalOptions>& local_fields() {
  static const auto table =
      FieldTable<LocalOptions>("local")
          .integer("w", &LocalOptions::w, {1, 1 << 20},
                   "window: causal reads the last w keys, the query's own included; noncausal keys at distance up to w")
          .choice("positions", &LocalOptions::positions,
                  {{"none", LocalOptions::Positions::none}, {"table", LocalOptions::Positions::table}},
                  "table: a trained score for every offset within the window")
          .choice(
              "table_start", &LocalOptions::table_start, kTableStarts,
              "start of the table: 0, normal(0.02), or falling with the distance at slopes 1, 1/2, 1/4, ... by head");
  return table;
}

LocalAttention::LocalAttention(Pattern pattern, AttentionSizes sizes, LocalOptions options)
    : Attention("local", pattern, sizes), options_(options), project_(*this, sizes, pattern) {
  local_fields().validate(options_);
  refuse_idle("local", {{.when = {{"positions", std::string("none")}}, .idle = {"table_start"}}},
              local_fields().infos(), local_fields().values(options_));
  LONGSPAN_CHECK(!is_cross(pattern), "local: a cross pattern has no window, got ", to_string(pattern));
  if (options_.positions == LocalOptions::Positions::table)
    position_table_ =
        register_parameter("position_table", make_position_table(sizes.heads, reach_left(), options_.table_start));
}

AttentionProperties LocalAttention::properties() const {
  AttentionProperties out;
  out.bitwise = true;
  return out;
}

AttentionCost LocalAttention::cost(int64_t queries, int64_t keys) const {
  const double width = static_cast<double>(sizes().width);
  AttentionCost out;
  out.flops = 4 * width * band_pairs(queries, keys, reach_left(), reach_right());
  const int64_t key_width = sizes().key_heads() * sizes().head_width();
  out.bytes = row_bytes(queries, keys, sizes().width, key_width);
  if (pattern() == Pattern::causal_self)
    out.state_bytes = 4 * 2 * static_cast<double>((options_.w - 1) * key_width) + 8;
  return out;
}

std::optional<at::Tensor> LocalAttention::table() const {
  if (position_table_.defined()) return position_table_;
  return std::nullopt;
}

at::Tensor LocalAttention::window(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                  const std::optional<at::Tensor>& cu, const std::optional<at::Tensor>& cu_k) const {
  ops::LocalAttentionOptions options;
  options.reach_left = reach_left();
  options.reach_right = reach_right();
  options.cu_seqlens = cu;
  options.cu_seqlens_k = cu_k;
  return ops::local_attention(q, k, v, table(), options);
}

at::Tensor LocalAttention::attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
  return window(q, k, v, std::nullopt, std::nullopt);
}

at::Tensor LocalAttention::forward_packed(const at::Tensor& x, const Packed& packed) {
  const RotaryPositions rotary(sizes(), x, packed.cu);
  return project_.merge(window(rotary.turn(project_.queries(x)), rotary.turn(project_.keys(x)), project_.values(x),
                               packed.cu, std::nullopt));
}

StateLayout LocalAttention::state_layout() const {
  StateLayout layout;
  const int64_t width = sizes().head_width();
  describe_window(layout, sizes().key_heads(), options_.w - 1, width, width);
  return layout;
}

State LocalAttention::begin_self(int64_t batch) {
  State state;
  const int64_t width = sizes().head_width();
  begin_window(state, batch, sizes().key_heads(), options_.w - 1, width, width, project_.options());
  return state;
}

State LocalAttention::begin_cross(const at::Tensor&, const std::optional<at::Tensor>&, int64_t) {
  throw InternalError("local has no cross pattern");
}

at::Tensor LocalAttention::extend_packed(State& state, const at::Tensor& x, const std::optional<at::Tensor>& cu) {
  if (!cu && !is_even(state))
    return extend_packed(state, flatten_batch(x), uniform_cu(x.size(0), x.size(1))).view(x.sizes());
  const RotaryPositions rotary(sizes(), x, cu, state.at("count"));
  const at::Tensor q = rotary.turn(project_.queries(x));
  State next = state;
  const WindowRows rows =
      join_window(next, {{"keys", rotary.turn(project_.keys(x))}, {"values", project_.values(x)}}, cu);
  advance_count(next, x.size(1), cu);
  const at::Tensor y = project_.merge(window(q, rows.at("keys"), rows.at("values"), cu, rows.cu));
  state = std::move(next);
  return y;
}

std::map<std::string, at::Tensor> LocalAttention::inspect_dense(const at::Tensor& x, const std::optional<at::Tensor>&) {
  const RotaryPositions rotary(sizes(), x, std::nullopt);
  return {{"weights", window_weights(rotary.turn(project_.queries(x)), rotary.turn(project_.keys(x)), position_table_,
                                     reach_left(), reach_right())},
          {"values", spread_heads(project_.values(x).to(at::kDouble), sizes().heads)}};
}

}  // namespace longspan::nn
