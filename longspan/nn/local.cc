#include "longspan/nn/local.h"

#include "longspan/nn/cost.h"
#include "longspan/nn/packing.h"
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
              "table_start", &LocalOptions::table_start,
              {{"zero", TableStart::zero}, {"normal", TableStart::normal}, {"slope", TableStart::slope}},
              "start of the table: 0, normal(0.02), or falling with the distance at slopes 1, 1/2, 1/4, ... by head");
  return table;
}

LocalAttention::LocalAttention(Pattern pattern, AttentionSizes sizes, LocalOptions options)
    : Attention("local", pattern, sizes), options_(options), project_(*this, sizes, pattern) {
  local_fields().validate(options_);
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
  out.bytes = row_bytes(queries, keys, sizes().width);
  if (pattern() == Pattern::causal_self) out.state_bytes = 4 * 2 * static_cast<double>(options_.w - 1) * width + 8;
  return out;
}

std::optional<at::Tensor> LocalAttention::table() const {
  if (position_table_.defined()) return position_table_;
  return std::nullopt;
}

at::Tensor LocalAttention::attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
  return ops::local_attention(q, k, v, table(), {.reach_left = reach_left(), .reach_right = reach_right()});
}

at::Tensor LocalAttention::forward_packed(const at::Tensor& x, const Packed& packed) {
  return project_.merge(
      ops::local_attention(project_.queries(x), project_.keys(x), project_.values(x), table(),
                           {.reach_left = reach_left(), .reach_right = reach_right(), .cu_seqlens = packed.cu}));
}

StateLayout LocalAttention::state_layout() const {
  StateLayout layout;
  describe_window(layout, sizes().heads, options_.w - 1, sizes().head_width());
  return layout;
}

State LocalAttention::begin_self(int64_t batch) {
  State state;
  begin_window(state, batch, sizes().heads, options_.w - 1, sizes().head_width(), project_.options());
  return state;
}

State LocalAttention::begin_cross(const at::Tensor&, const std::optional<at::Tensor>&, int64_t) {
  throw InternalError("local has no cross pattern");
}

at::Tensor LocalAttention::extend_packed(State& state, const at::Tensor& x, const std::optional<at::Tensor>& cu) {
  if (!cu && !is_even(state))
    return extend_packed(state, flatten_batch(x), uniform_cu(x.size(0), x.size(1))).view(x.sizes());
  const at::Tensor q = project_.queries(x);
  State next = state;
  const WindowKeys window = join_window(next, project_.keys(x), project_.values(x), cu);
  advance_count(next, x.size(1), cu);
  const at::Tensor y =
      project_.merge(ops::local_attention(q, window.keys, window.values, table(),
                                          {.reach_left = reach_left(), .cu_seqlens = cu, .cu_seqlens_k = window.cu}));
  state = std::move(next);
  return y;
}

}  // namespace longspan::nn
